// Package schedule decides when to run something again, and does so.
package schedule
