-- The store, in the schema that search_path names first.

CREATE TABLE record (
	key    text COLLATE "C" PRIMARY KEY,
	fence  bigint  NOT NULL,
	behind boolean NOT NULL,
	body   bytea   NOT NULL,
	view   bytea
);
-- Bodies change as a whole with every write: to compress them is time lost.
ALTER TABLE record ALTER COLUMN body SET STORAGE EXTERNAL, ALTER COLUMN view SET STORAGE EXTERNAL;
CREATE INDEX record_behind ON record (key) WHERE behind;
-- Every projection leaves a dead entry in that index, through which each listing walks until it is vacuumed.
ALTER TABLE record SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- Every write of any record takes a new fence from here, so a fence never comes back, not even for a key that was deleted.
CREATE SEQUENCE fence AS bigint OWNED BY record.fence;

CREATE TABLE view_row (
	key  text COLLATE "C" NOT NULL,
	id   text COLLATE "C" NOT NULL,
	seq  bigint NOT NULL, -- The order of insertion.
	body bytea NOT NULL,
	PRIMARY KEY (key, id)
);
CREATE SEQUENCE view_row_seq AS bigint OWNED BY view_row.seq;

CREATE TABLE schema_version (version integer NOT NULL);
INSERT INTO schema_version VALUES (1);
