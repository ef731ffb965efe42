package postgres

import "strings"

// queries are the statements, with the tables of one schema. Each write of records compares the fence itself and
// raises it, and locks records in the order of their keys, so that two groups never wait for each other. A lone write has
// nothing to order, and a statement that is a fifth faster.
//
// Arguments are arrays, one element per operation, with their types written out: the simple protocol sends text.
type queries struct {
	create, update, settle, put, remove     string
	updateOne, settleOne                    string
	read, view, rows, present, keys, behind string
}

func newQueries(schema string) queries {
	in := strings.NewReplacer("SCHEMA", quoted(schema))
	return queries{
		// keys, behind, bodies. Of two for one key the first is inserted.
		create: in.Replace(`
INSERT INTO SCHEMA.record (key, fence, behind, body)
SELECT key, nextval('SCHEMA.fence'), behind, body
FROM unnest($1::text[], $2::bool[], $3::bytea[]) WITH ORDINALITY AS op (key, behind, body, n) ORDER BY key COLLATE "C", n
ON CONFLICT (key) DO NOTHING
RETURNING key, fence, behind`),

		// keys, fences, behind, bodies. It answers the operation, since two may be for one key.
		update: in.Replace(`
WITH op AS (
	SELECT * FROM unnest($1::text[], $2::bigint[], $3::bool[], $4::bytea[]) WITH ORDINALITY AS op (key, fence, behind, body, n)
), held AS MATERIALIZED (
	SELECT n FROM SCHEMA.record JOIN op USING (key, fence) ORDER BY key FOR UPDATE OF record
)
UPDATE SCHEMA.record SET fence = nextval('SCHEMA.fence'), behind = record.behind OR op.behind, body = op.body
FROM op JOIN held USING (n) WHERE record.key = op.key AND record.fence = op.fence
RETURNING n, record.fence, record.behind`),

		updateOne: in.Replace(`
UPDATE SCHEMA.record SET fence = nextval('SCHEMA.fence'), behind = behind OR $3::bool, body = $4::bytea
WHERE key = $1::text AND fence = $2::bigint
RETURNING 1::bigint, fence, behind`),

		// keys, fences, whether there is a view, views; and the rows: their operation, ids, bodies.
		settle: in.Replace(`
WITH op AS (
	SELECT * FROM unnest($1::text[], $2::bigint[], $3::bool[], $4::bytea[]) WITH ORDINALITY AS op (key, fence, shows, view, n)
), held AS MATERIALIZED (
	SELECT n FROM SCHEMA.record JOIN op USING (key, fence) ORDER BY key FOR UPDATE OF record
), settled AS (
	UPDATE SCHEMA.record SET fence = nextval('SCHEMA.fence'), behind = false, view = CASE WHEN shows THEN op.view ELSE record.view END
	FROM op JOIN held USING (n) WHERE record.key = op.key AND record.fence = op.fence
	RETURNING n, record.key
), written AS (
	INSERT INTO SCHEMA.view_row (key, id, seq, body)
	SELECT key, id, seq, body FROM settled JOIN (
		SELECT n, id, body, nextval('SCHEMA.view_row_seq') AS seq
		FROM unnest($5::bigint[], $6::text[], $7::bytea[]) AS row (n, id, body)
	) AS row USING (n) ORDER BY key, id COLLATE "C"
	ON CONFLICT (key, id) DO NOTHING
)
SELECT n FROM settled`),

		// key, fence, whether there is a view, view; and the rows: ids, bodies. Rows are put in the order of their ids by a put too.
		settleOne: in.Replace(`
WITH settled AS (
	UPDATE SCHEMA.record SET fence = nextval('SCHEMA.fence'), behind = false, view = CASE WHEN $3::bool THEN $4::bytea ELSE view END
	WHERE key = $1::text AND fence = $2::bigint
	RETURNING key
), written AS (
	INSERT INTO SCHEMA.view_row (key, id, seq, body)
	SELECT key, id, seq, body FROM settled, (
		SELECT id, body, nextval('SCHEMA.view_row_seq') AS seq FROM unnest($5::text[], $6::bytea[]) AS row (id, body)
	) AS row ORDER BY id COLLATE "C"
	ON CONFLICT (key, id) DO NOTHING
)
SELECT 1::bigint FROM settled`),

		// keys, ids, bodies
		put: in.Replace(`
INSERT INTO SCHEMA.view_row (key, id, seq, body)
SELECT key, id, seq, body FROM (
	SELECT key, id, body, nextval('SCHEMA.view_row_seq') AS seq
	FROM unnest($1::text[], $2::text[], $3::bytea[]) AS row (key, id, body)
) AS row ORDER BY key COLLATE "C", id COLLATE "C"
ON CONFLICT (key, id) DO NOTHING`),

		remove: in.Replace(`
WITH gone AS (
	DELETE FROM SCHEMA.record WHERE key = $1::text AND fence = $2::bigint RETURNING key
), rows AS (
	DELETE FROM SCHEMA.view_row USING gone WHERE view_row.key = gone.key
)
SELECT 1::bigint FROM gone`),

		// A standby would say that nothing is pending, or that a key is not there.
		read:    in.Replace(`SELECT pg_is_in_recovery(), fence, behind, body FROM (SELECT) AS always LEFT JOIN SCHEMA.record ON key = $1::text`),
		view:    in.Replace(`SELECT view FROM SCHEMA.record WHERE key = $1::text AND view IS NOT NULL`),
		rows:    in.Replace(`SELECT body FROM SCHEMA.view_row WHERE key = $1::text ORDER BY seq`),
		present: in.Replace(`SELECT id FROM SCHEMA.view_row WHERE key = $1::text AND id = ANY ($2::text[])`),
		keys:    in.Replace(`SELECT key FROM SCHEMA.record WHERE key >= $1::text ORDER BY key LIMIT $2::int`),
		behind:  in.Replace(`SELECT key FROM SCHEMA.record WHERE behind AND key >= $1::text ORDER BY key LIMIT $2::int`),
	}
}
