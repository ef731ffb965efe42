package sheets

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/goferry/goferry/backends/sheets/internal/ecma"
)

// legacyMarker stands for the fingerprint of a task that was done and redacted before there were fingerprints.
const legacyMarker = "legacy-redacted:"

// fingerprint is the hash of what never changes about a task. It outlives the payload, so that a replay is told from
// another task with the same id.
func fingerprint(transaction string, index int, t Task) string {
	expected := ""
	if t.ExpectedVersion != nil {
		expected = ecma.Number(*t.ExpectedVersion)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{
		t.ID, transaction, strconv.Itoa(index), string(t.Operation), t.Sheet, t.KeyHeader, t.KeyValue, expected, t.Payload,
	}, "\x1f")))
	return hex.EncodeToString(sum[:])
}
