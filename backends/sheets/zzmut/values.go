package sheetstest

import (
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/api/sheets/v4"
)

// valueOptions is how values.get and values.batchGet want their values.
type valueOptions struct {
	render    string // FORMATTED_VALUE, UNFORMATTED_VALUE or FORMULA.
	byColumns bool
}

func parseValueOptions(q url.Values) (valueOptions, error) {
	o := valueOptions{render: q.Get("valueRenderOption")}
	switch o.render {
	case "":
		o.render = "FORMATTED_VALUE"
	case "FORMATTED_VALUE", "UNFORMATTED_VALUE", "FORMULA":
	default:
		return o, firmly("Invalid value at 'value_render_option': %q", o.render)
	}
	switch m := q.Get("majorDimension"); m {
	case "", "ROWS":
	case "COLUMNS":
		o.byColumns = true
	default:
		return o, firmly("Invalid value at 'major_dimension': %q", m)
	}
	return o, nil
}

func (b *book) values(text string, o valueOptions) (*sheets.ValueRange, error) {
	a, err := b.parseA1(text)
	if err != nil {
		return nil, err
	}
	v := &sheets.ValueRange{Range: a.String(), MajorDimension: "ROWS"}
	if o.byColumns {
		v.MajorDimension = "COLUMNS"
	}
	v.Values = a.values(o)
	return v, nil
}

// values leaves out trailing blanks in both dimensions. A blank in front of a
// value is "".
func (a area) values(o valueOptions) [][]any {
	n, m, at := a.rows(), a.cols(), func(i, j int) any { return a.tab.at(a.row+i, a.col+j).value }
	n = min(n, max(0, len(a.tab.data)-a.row))
	if o.byColumns {
		n, m = a.cols(), n
		rows := at
		at = func(i, j int) any { return rows(j, i) }
	}
	var lines [][]any
	full := 0
	for i := range n {
		line := []any{}
		for j := range m {
			if v := at(i, j); v != nil {
				for len(line) < j {
					line = append(line, "")
				}
				line = append(line, o.show(v))
			}
		}
		lines = append(lines, line)
		if len(line) > 0 {
			full = len(lines)
		}
	}
	return lines[:full]
}

func (o valueOptions) show(v any) any {
	f, isFormula := v.(Formula)
	switch {
	case isFormula && o.render == "FORMULA":
		return string(f)
	case isFormula || o.render == "FORMATTED_VALUE":
		return formatted(v)
	}
	return v
}

func (b *book) batchGet(ranges []string, o valueOptions) (any, error) {
	res := &sheets.BatchGetValuesResponse{SpreadsheetId: b.id}
	for _, text := range ranges {
		v, err := b.values(text, o)
		if err != nil {
			return nil, err
		}
		res.ValueRanges = append(res.ValueRanges, v)
	}
	return res, nil
}

// appendValues writes below the last row that had a value when the request
// arrived; see [appendCells].
func (d *draft) appendValues(text, input string, body *sheets.ValueRange) (any, error) {
	if input != "RAW" && input != "USER_ENTERED" {
		return nil, firmly("'valueInputOption' is required but not specified")
	}
	a, err := d.parseA1(text)
	if err != nil {
		return nil, err
	}
	t, err := d.editable(a.tab.id)
	if err != nil {
		return nil, err
	}
	to := area{tab: t, row: d.appendRow(t), col: a.col}
	to.endRow, to.endCol = to.row+len(body.Values), to.col
	for _, row := range body.Values {
		to.endCol = max(to.endCol, to.col+len(row))
	}
	t.rows, t.cols = max(t.rows, to.endRow), max(t.cols, to.endCol)
	for i, row := range body.Values {
		if err := d.putRow(t, to.row+i, to.col, row, input == "USER_ENTERED"); err != nil {
			return nil, err
		}
	}
	return &sheets.AppendValuesResponse{SpreadsheetId: d.id, Updates: &sheets.UpdateValuesResponse{
		SpreadsheetId: d.id, UpdatedRange: to.String(), UpdatedRows: int64(to.rows()), UpdatedColumns: int64(to.cols()),
		UpdatedCells: int64(to.rows()) * int64(to.cols()),
	}}, d.fits()
}

// putRow writes plain values; null leaves its cell as it is.
func (d *draft) putRow(t *tab, row, col int, values []any, parse bool) error {
	entered := make([]any, len(values))
	for i, v := range values {
		if s, ok := v.(string); ok && parse {
			v = typed(s)
		}
		var err error
		if entered[i], err = d.entered(v); err != nil {
			return err
		}
	}
	t.update(row, col, len(values), func(i int, old cell) cell {
		if values[i] != nil {
			old.value = entered[i]
		}
		return old
	})
	return nil
}

// typed is what a text becomes when a person types it: the numbers, booleans
// and formulas that a text written as typed would turn into.
func typed(s string) any {
	switch upper := strings.ToUpper(strings.TrimSpace(s)); {
	case strings.HasPrefix(s, "=") && len(s) > 1:
		return Formula(s)
	case upper == "TRUE" || upper == "FALSE":
		return upper == "TRUE"
	case strings.HasPrefix(s, "'"):
		return s[1:]
	default:
		if n, err := strconv.ParseFloat(upper, 64); err == nil && strings.ContainsAny(upper, "0123456789") {
			return n
		}
		return s
	}
}
