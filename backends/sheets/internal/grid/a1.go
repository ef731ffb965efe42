package grid

import (
	"fmt"
	"strings"
)

// Quote answers title as it stands in an A1 range: in single quotes, its own quotes doubled.
func Quote(title string) string {
	return "'" + strings.ReplaceAll(title, "'", "''") + "'"
}

// Column answers the letters of a column; 0 is A.
func Column(index int) string {
	letters := ""
	for i := index + 1; i > 0; i = (i - 1) / 26 {
		letters = string(rune('A'+(i-1)%26)) + letters
	}
	return letters
}

// Rows is the A1 range of columns 0 to cols-1 of the rows from first to last, which count from 1. A last of 0 leaves
// the range open at the bottom.
func Rows(title string, first, last, cols int) string {
	end := Column(cols - 1)
	if last > 0 {
		end = fmt.Sprintf("%s%d", end, last)
	}
	return fmt.Sprintf("%s!A%d:%s", Quote(title), first, end)
}

// ColumnRange is the A1 range of one column, from the row first, or of one stretch of it if last is not 0.
func ColumnRange(title string, column, first, last int) string {
	name := Column(column)
	end := name
	if last > 0 {
		end = fmt.Sprintf("%s%d", name, last)
	}
	return fmt.Sprintf("%s!%s%d:%s", Quote(title), name, first, end)
}

// RowRange is the A1 range of one whole row.
func RowRange(title string, row int) string {
	return fmt.Sprintf("%s!%d:%d", Quote(title), row, row)
}
