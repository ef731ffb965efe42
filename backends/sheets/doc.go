// Package sheets keeps a durable, fenced write queue in an ordinary Google spreadsheet.
package sheets
