package sheetstest

import (
	"reflect"
	"slices"
	"strings"
)

// mask is a parsed fields parameter: the wanted fields and what is wanted of
// each. A nil mask wants everything; "*" stands for every field.
type mask map[string]mask

// wants reports whether the mask covers the field path.
func (m mask) wants(path ...string) bool {
	for _, name := range path {
		if m == nil {
			return true
		}
		sub, ok := m.under(name)
		if !ok {
			return false
		}
		m = sub
	}
	return true
}

func (m mask) under(name string) (mask, bool) {
	if sub, ok := m[name]; ok {
		return sub, true
	}
	sub, ok := m["*"]
	return sub, ok
}

// parseMask reads "a,b/c,d(e,f.g)" and checks each field against the type of
// the answer, as the service does. An empty text is the nil mask.
func parseMask(text string, of reflect.Type) (mask, error) {
	if text == "" {
		return nil, nil
	}
	p := maskParser{rest: text}
	m := p.list()
	if p.bad || p.rest != "" || !m.fits(of) {
		return nil, firmly("Request contains an invalid argument. Invalid value for the fields parameter: %s", text)
	}
	return m, nil
}

type maskParser struct {
	rest string
	bad  bool
}

func (p *maskParser) list() mask {
	m := mask{}
	for {
		p.item(m)
		if p.bad || !p.eat(",") {
			return m
		}
	}
}

// item adds one path, with the list in parentheses behind it, to the mask.
func (p *maskParser) item(m mask) {
	n := strings.IndexAny(p.rest+",", ",()./")
	name := strings.TrimSpace(p.rest[:n])
	p.rest = p.rest[n:]
	if name == "" {
		p.bad = true
		return
	}
	switch {
	case p.eat("."), p.eat("/"):
		sub := mask{}
		p.item(sub)
		m.merge(name, sub)
	case p.eat("("):
		m.merge(name, p.list())
		p.bad = p.bad || !p.eat(")")
	default:
		m.merge(name, nil)
	}
}

func (p *maskParser) eat(token string) bool {
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

// merge unites two wishes about one field; wanting all of it wins.
func (m mask) merge(name string, sub mask) {
	old, had := m[name]
	if !had || sub == nil {
		m[name] = sub
		return
	}
	if old == nil {
		return
	}
	for k, v := range sub {
		old.merge(k, v)
	}
}

// fits reports whether every field of the mask exists in the type.
func (m mask) fits(of reflect.Type) bool {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	for name, sub := range m {
		if name == "*" && sub == nil {
			continue
		}
		if of.Kind() != reflect.Struct {
			return false
		}
		field, ok := fieldNamed(of, name)
		if !ok || !sub.fits(field.Type) {
			return false
		}
	}
	return true
}

func fieldNamed(of reflect.Type, name string) (reflect.StructField, bool) {
	for i := range of.NumField() {
		if f := of.Field(i); jsonName(f) == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// prune empties every field of an answer that the mask does not want.
func prune(v reflect.Value, m mask) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			prune(v.Elem(), m)
		}
	case reflect.Slice:
		for i := range v.Len() {
			prune(v.Index(i), m)
		}
	case reflect.Struct:
		pruneFields(v, m)
	}
}

func pruneFields(v reflect.Value, m mask) {
	forced, _ := v.FieldByName("ForceSendFields").Interface().([]string)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name := jsonName(field)
		if name == "-" {
			continue
		}
		sub, ok := m.under(name)
		if !ok {
			v.Field(i).SetZero()
			forced = slices.DeleteFunc(slices.Clone(forced), func(f string) bool { return f == field.Name })
		} else if sub != nil {
			prune(v.Field(i), sub)
		}
	}
	v.FieldByName("ForceSendFields").Set(reflect.ValueOf(forced))
}
