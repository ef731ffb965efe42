package sheetstest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/api/sheets/v4"
)

// area is a rectangle of one tab, its ends exclusive.
type area struct {
	tab                      *tab
	row, col, endRow, endCol int
}

func (t *tab) all() area { return area{tab: t, endRow: t.rows, endCol: t.cols} }

func (a area) rows() int { return a.endRow - a.row }
func (a area) cols() int { return a.endCol - a.col }

var (
	referencePattern = regexp.MustCompile(`^\$?([A-Za-z]{0,3})\$?([0-9]{0,7})(?::\$?([A-Za-z]{0,3})\$?([0-9]{0,7}))?$`)
	bareTitle        = regexp.MustCompile(`^[A-Za-z_][A-Za-z_]*[0-9]*$`)
)

// parseA1 resolves "Title!A1:B2", "Title", "A1:B2" (on the first visible tab)
// and their open forms. An end beyond the grid is cut off; a start beyond it
// is an error, as at the service.
func (b *book) parseA1(text string) (area, error) {
	title, ref, ok := splitA1(text)
	t := b.titled(title)
	if title == "" {
		t = b.firstVisible()
	}
	if !ok || t == nil {
		return area{}, firmly("Unable to parse range: %s", text)
	}
	a := t.all()
	if ref != "" {
		r, ok := parseReference(ref)
		if !ok {
			return area{}, firmly("Unable to parse range: %s", text)
		}
		a.narrow(r)
	}
	return a.clip(text)
}

func (b *book) firstVisible() *tab {
	for _, t := range b.tabs {
		if !t.hidden {
			return t
		}
	}
	return nil
}

// splitA1 separates the title from the reference. A text without "!" that
// reads as a reference is one; else it is a title.
func splitA1(text string) (title, ref string, ok bool) {
	if !strings.HasPrefix(text, "'") {
		title, ref, found := strings.Cut(text, "!")
		if _, ok := parseReference(text); ok {
			return "", text, true
		}
		return title, ref, title != "" && (!found || ref != "")
	}
	end := 1
	for end < len(text) && (text[end] != '\'' || strings.HasPrefix(text[end:], "''")) {
		end++
		if strings.HasPrefix(text[end-1:], "''") {
			end++
		}
	}
	if end >= len(text) {
		return "", "", false
	}
	title = strings.ReplaceAll(text[1:end], "''", "'")
	ref, found := strings.CutPrefix(text[end+1:], "!")
	return title, ref, title != "" && found == (ref != "")
}

// reference is a parsed "B2:D": one-based bounds, zero where open.
type reference struct{ col, row, endCol, endRow int }

// parseReference reports false for a lone column or row too: it may be a title.
func parseReference(text string) (reference, bool) {
	m := referencePattern.FindStringSubmatch(text)
	if m == nil {
		return reference{}, false
	}
	single := !strings.Contains(text, ":")
	if single {
		m[3], m[4] = m[1], m[2]
	}
	r := reference{col: letters(m[1]), row: number(m[2]), endCol: letters(m[3]), endRow: number(m[4])}
	if single {
		return r, r.col > 0 && r.row > 0
	}
	return r, r.col+r.row > 0 && r.endCol+r.endRow > 0
}

// narrow cuts the area down to a reference.
func (a *area) narrow(r reference) {
	a.row, a.endRow = span(r.row, r.endRow, a.endRow)
	a.col, a.endCol = span(r.col, r.endCol, a.endCol)
}

// span turns one-based bounds, 0 for open ones, into a zero-based half-open
// span.
func span(from, to, size int) (start, end int) {
	if to != 0 && from > to {
		from, to = to, from
	}
	if to == 0 {
		to = max(size, from)
	}
	return max(from-1, 0), to
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // The pattern admits digits only.
	return n
}

func letters(s string) int {
	n := 0
	for _, r := range strings.ToUpper(s) {
		n = n*26 + int(r-'A') + 1
	}
	return n
}

func columnName(col int) string {
	name := ""
	for col++; col > 0; col = (col - 1) / 26 {
		name = string(rune('A'+(col-1)%26)) + name
	}
	return name
}

func (a area) clip(text string) (area, error) {
	if a.row >= a.tab.rows || a.col >= a.tab.cols {
		return area{}, firmly("Range (%s) exceeds grid limits. Max rows: %d, max columns: %d", text, a.tab.rows, a.tab.cols)
	}
	a.endRow, a.endCol = min(a.endRow, a.tab.rows), min(a.endCol, a.tab.cols)
	return a, nil
}

// String is the area in A1 notation.
func (a area) String() string {
	title := a.tab.title
	if _, ambiguous := parseReference(title); ambiguous || !bareTitle.MatchString(title) {
		title = "'" + strings.ReplaceAll(title, "'", "''") + "'"
	}
	text := fmt.Sprintf("%s!%s%d", title, columnName(a.col), a.row+1)
	if a.rows() > 1 || a.cols() > 1 {
		text += fmt.Sprintf(":%s%d", columnName(a.endCol-1), a.endRow)
	}
	return text
}

// area resolves a grid range; an end of zero is an absent one and means
// unbounded, whether or not the client forced the zero onto the wire.
func (b *book) area(r *sheets.GridRange) (area, error) {
	t := b.tab(r.SheetId)
	if t == nil {
		return area{}, invalid("No grid with id: %d", r.SheetId)
	}
	a := area{tab: t, row: int(r.StartRowIndex), col: int(r.StartColumnIndex), endRow: int(r.EndRowIndex), endCol: int(r.EndColumnIndex)}
	if a.endRow == 0 {
		a.endRow = t.rows
	}
	if a.endCol == 0 {
		a.endCol = t.cols
	}
	if a.row < 0 || a.col < 0 || a.row >= a.endRow || a.col >= a.endCol || a.endRow > t.rows || a.endCol > t.cols {
		return area{}, invalid("GridRange rows [%d, %d) and columns [%d, %d) are empty or beyond the grid of %d rows and %d columns",
			a.row, a.endRow, a.col, a.endCol, t.rows, t.cols)
	}
	return a, nil
}
