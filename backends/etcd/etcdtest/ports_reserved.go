//go:build linux || darwin

package etcdtest

import (
	"fmt"
	"net/url"

	"golang.org/x/sys/unix"
)

// shared has nodes listen beside the socket of reserve.
const shared = true

// reserve takes a port of the system's choice until release: by a socket that is bound and never listens. Nobody else gets the port, not
// even while its node is down.
func reserve() (address url.URL, release func() error, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return url.URL{}, nil, err
	}
	release = func() error { return unix.Close(fd) }
	unix.CloseOnExec(fd)
	var bound unix.Sockaddr
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		bound, err = unix.Getsockname(fd)
	}
	if err != nil {
		release()
		return url.URL{}, nil, err
	}
	return url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", bound.(*unix.SockaddrInet4).Port)}, release, nil
}
