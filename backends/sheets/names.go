package sheets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// The internal sheets. No table may have a name that starts with systemPrefix.
const (
	systemPrefix = "_typed_sheets_"
	queueTitle   = systemPrefix + "task_queue"
	metaTitle    = systemPrefix + "meta"
	dataPrefix   = systemPrefix + "data_"
)

const maxTitle = 100

var unsluggable = regexp.MustCompile(`[^A-Za-z0-9_-]+|__+`)

// canonicalTitle answers the n-th title to try for a table's canonical sheet. A title that stands in the meta sheet
// always wins over it.
func canonicalTitle(logical string, n int) string {
	sum := sha256.Sum256([]byte(logical))
	ending := "_" + hex.EncodeToString(sum[:])[:12]
	if n > 0 {
		ending += fmt.Sprintf("_%d", n)
	}
	slug := strings.Trim(unsluggable.ReplaceAllString(logical, "_"), "_")
	slug = strings.Trim(unsluggable.ReplaceAllString(slug, "_"), "_")
	if slug == "" {
		slug = "sheet"
	}
	slug = slug[:min(len(slug), maxTitle-len(dataPrefix)-len(ending))]
	return dataPrefix + slug + ending
}
