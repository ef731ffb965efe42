package sim

import (
	"fmt"
	"strings"
)

var awkwardTexts = []string{
	"", "a", "A", "a,b", "b", "a b", " a", "a ", "ab", "a/b", "a|b", "a:b", "a;b", `a\b`, "a'b", `a"b`, "a%b", "a_b", "a\tb", "a\nb",
	"0", "00", "null", "é", "e\u0301", "😀", "\u200b", "\u0001", "../a", "a.b", "{a}", "[a]", "a-b", "a=b&c", "#", "?", "*", "$a", "${a}",
}

var awkwardBytes = []string{"\x00", "a\x00b", "\x00\x00", "\x7f", "\x80", "\xff", "\xc3", "\xff\xfe", "a\xffb"}

// AnyText answers the n-th of an endless list of different strings, the first of which are those that stores get wrong:
// separators, quotes, wild cards, spaces at the ends, letters that differ in case alone, accents in two forms, one very
// long. All are text: UTF-8 without a zero byte. Give it to [TestStore] as key, or as the identity of inputs.
func AnyText(n int) string { return anyOf(awkwardTexts, n) }

// AnyBytes is [AnyText] for stores that keep strings of any bytes: the list begins with some that are no text.
func AnyBytes(n int) string {
	if n < len(awkwardBytes) {
		return awkwardBytes[n]
	}
	return AnyText(n - len(awkwardBytes))
}

func anyOf(awkward []string, n int) string {
	switch {
	case n < len(awkward):
		return awkward[n]
	case n == len(awkward):
		return strings.Repeat("long", 100)
	}
	return fmt.Sprintf("%s~%d", awkward[n%len(awkward)], n)
}
