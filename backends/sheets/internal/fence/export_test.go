package fence

// MetadataRollingAfter is Metadata with shorter epochs.
func MetadataRollingAfter(n int64) Kind { return metadata{n} }

// MarkOf is the metadata id of the commit after s.
func MarkOf(s State) int64 { return metadata{}.id(s) }
