module github.com/cachedpgx/cachedpgx/internal/oracle

go 1.26.0

require (
	github.com/cachedpgx/cachedpgx v0.0.0
	github.com/pganalyze/pg_query_go/v6 v6.2.5
	google.golang.org/protobuf v1.33.0
)

replace github.com/cachedpgx/cachedpgx => ../..
