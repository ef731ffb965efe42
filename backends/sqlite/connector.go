package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	sqlite3 "modernc.org/sqlite"
)

// ErrUnsafe is the failure of a connection that does not keep what the configuration promises: the file system, a
// hook or a build of SQLite changed a setting that answered writes depend on.
var ErrUnsafe = errors.New("the connection would lose writes")

// minVersion is the first SQLite without a race between checkpoints that corrupts the file.
const minVersion = 3_051_003

// connector reads back on every connection what the data depends on, since SQLite accepts settings without a word and
// then does not have them.
type connector struct {
	driver.Connector
	synchronous int64
	busyTimeout int64
}

func newConnector(path string, config Config, readOnly bool) (driver.Connector, error) {
	if path == "" {
		return nil, errors.New("the path is empty")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	c := connector{synchronous: 2, busyTimeout: config.BusyTimeout.Milliseconds()}
	if config.Durability == Relaxed {
		c.synchronous = 1
	}
	c.Connector, err = sqlite3.NewConnector(dsn(absolute, c, readOnly))
	return c, err
}

// dsn names the file by a URI, in which no path can be taken for a parameter or for a database in memory.
func dsn(path string, c connector, readOnly bool) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // A drive letter.
	}
	settings := url.Values{
		"_busy_timeout": {strconv.FormatInt(c.busyTimeout, 10)},
		"_journal_mode": {"WAL"},
		"_synchronous":  {strconv.FormatInt(c.synchronous, 10)},
		// A transaction that reads before it writes can fail at once, whatever the timeout. Ours begin by writing.
		"_txlock": {"immediate"},
		// fsync on macOS does not reach the disk. The settings mean nothing elsewhere.
		"_pragma": {"fullfsync(1)", "checkpoint_fullfsync(1)"},
	}
	if readOnly {
		settings.Set("_query_only", "1")
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath() + "?" + settings.Encode()
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.verify(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (c connector) verify(ctx context.Context, conn driver.Conn) error {
	var version, journal string
	var synchronous, busyTimeout int64
	err := queryRow(ctx, conn, `SELECT sqlite_version(), j.journal_mode, s.synchronous, b.timeout
		FROM pragma_journal_mode j, pragma_synchronous s, pragma_busy_timeout b`,
		&version, &journal, &synchronous, &busyTimeout)
	switch {
	case err != nil:
		return err
	case versionNumber(version) < minVersion:
		return fmt.Errorf("%w: SQLite %s is older than 3.51.3", ErrUnsafe, version)
	case journal != "wal":
		return fmt.Errorf("%w: journal_mode is %s, not wal", ErrUnsafe, journal)
	case synchronous != c.synchronous:
		return fmt.Errorf("%w: synchronous is %d, not %d", ErrUnsafe, synchronous, c.synchronous)
	case busyTimeout != c.busyTimeout:
		return fmt.Errorf("%w: busy_timeout is %d ms, not %d", ErrUnsafe, busyTimeout, c.busyTimeout)
	}
	return nil
}

// versionNumber answers 3051003 for "3.51.3", 0 for what it cannot read.
func versionNumber(version string) int {
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return 0
	}
	return major*1_000_000 + minor*1000 + patch
}

// queryRow is sql.DB.QueryRow for a bare connection.
func queryRow(ctx context.Context, conn driver.Conn, query string, to ...any) error {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return err
	}
	values := make([]driver.Value, len(to))
	if err := rows.Next(values); err != nil {
		return errors.Join(err, rows.Close())
	}
	for i, v := range values {
		switch to := to[i].(type) {
		case *string:
			*to = v.(string)
		case *int64:
			*to = v.(int64)
		}
	}
	return rows.Close()
}
