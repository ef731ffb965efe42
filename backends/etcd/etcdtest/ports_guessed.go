//go:build !linux && !darwin

package etcdtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
)

const shared = false

// reserve finds a port that nobody has at the moment. It is below those that a system gives to outgoing connections, one of which
// might take it while its node is down.
func reserve() (address url.URL, release func() error, err error) {
	for range 100 {
		host := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		listener, listenErr := net.Listen("tcp", host)
		if err = listenErr; err == nil {
			return url.URL{Scheme: "http", Host: host}, func() error { return nil }, listener.Close()
		}
	}
	return url.URL{}, nil, err
}
