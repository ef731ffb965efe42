package sim

import (
	"fmt"
	"strings"
)

// plain come first, so that what is wrong with plain strings is reported of them.
var plain = []string{"a", "b", "c", "d", "e", "f", "g", "h"}

var awkwardTexts = []string{
	"", "A", "a,b", ",", "a b", " a", "a ", "ab", "a/b", "a|b", "a:b", "a;b", `a\b`, "a'b", `a"b`, "a%b", "a_b", "a\tb", "a\nb",
	"0", "00", "null", "é", "e\u0301", "😀", "\u200b", "\u0001", "../a", "a.b", "{a}", "[a]", "a-b", "a=b&c", "#", "?", "*", "$a", "${a}",
}

var awkwardBytes = []string{"\x00", "a\x00b", "\x00\x00", "\x7f", "\x80", "\xff", "\xc3", "\xff\xfe", "a\xffb"}

// AnyText answers the n-th of an endless list of different strings: a few plain ones, then those that stores get wrong:
// separators, quotes, wild cards, spaces at the ends, letters that differ in case alone, accents in two forms, the empty
// and a very long one. All are text: UTF-8 without a zero byte. Make keys and identities of them for [TestStore].
func AnyText(n int) string { return anyOf(awkwardTexts, n) }

// AnyBytes is [AnyText] for stores that keep strings of any bytes: the awkward ones begin with some that are no text.
func AnyBytes(n int) string { return anyOf(anyBytes, n) }

var anyBytes = append(awkwardBytes, awkwardTexts...)

func anyOf(awkward []string, n int) string {
	all := len(plain) + len(awkward)
	switch {
	case n < len(plain):
		return plain[n]
	case n < all:
		return awkward[n-len(plain)]
	case n == all:
		return strings.Repeat("long", 100)
	}
	return fmt.Sprintf("%s~%d", awkward[n%len(awkward)], n)
}
