package rowset

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// fakePG answers every query with one scripted result, whatever bytes that has:
// a real server never sends a value that can't be decoded.
type fakePG struct {
	fields []pgconn.FieldDescription // Format is ignored: the client's wish counts
	rows   [][][]byte
	fail   *pgproto3.ErrorResponse // after the rows

	wg sync.WaitGroup
}

// config returns a configuration that connects to the fake, which ends with the
// test.
func (f *fakePG) config(t testing.TB) *pgx.ConnConfig {
	t.Helper()
	cfg, err := pgx.ParseConfig("host=fake.invalid user=u database=d sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	cfg.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"192.0.2.1"}, nil }
	t.Cleanup(f.wg.Wait) // runs last
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		t.Cleanup(func() { server.Close() })
		f.wg.Go(func() {
			defer server.Close()
			f.serve(pgproto3.NewBackend(server, server))
		})
		return client, nil
	}
	return cfg
}

func (f *fakePG) serve(be *pgproto3.Backend) {
	if _, err := be.ReceiveStartupMessage(); err != nil {
		return
	}
	be.Send(&pgproto3.AuthenticationOk{})
	be.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	be.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	var formats []int16
	for be.Flush() == nil {
		for waiting := true; waiting; {
			msg, err := be.Receive()
			if err != nil {
				return
			}
			switch msg := msg.(type) {
			case *pgproto3.Parse:
				be.Send(&pgproto3.ParseComplete{})
			case *pgproto3.Describe:
				if msg.ObjectType == 'S' {
					be.Send(&pgproto3.ParameterDescription{})
					be.Send(f.description(nil))
				} else {
					be.Send(f.description(formats))
				}
			case *pgproto3.Bind:
				formats = append([]int16(nil), msg.ResultFormatCodes...)
				be.Send(&pgproto3.BindComplete{})
			case *pgproto3.Execute:
				f.sendRows(be)
			case *pgproto3.Close:
				be.Send(&pgproto3.CloseComplete{})
			case *pgproto3.Query:
				if msg.String == "-- ping" {
					be.Send(&pgproto3.EmptyQueryResponse{})
				} else {
					be.Send(f.description(nil))
					f.sendRows(be)
				}
				be.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
				waiting = false
			case *pgproto3.Sync:
				be.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
				waiting = false
			case *pgproto3.Terminate:
				return
			}
		}
	}
}

func (f *fakePG) description(formats []int16) *pgproto3.RowDescription {
	d := &pgproto3.RowDescription{}
	for i, fd := range f.fields {
		field := pgproto3.FieldDescription{
			Name: []byte(fd.Name), TableOID: fd.TableOID, TableAttributeNumber: fd.TableAttributeNumber,
			DataTypeOID: fd.DataTypeOID, DataTypeSize: fd.DataTypeSize, TypeModifier: fd.TypeModifier,
		}
		switch {
		case len(formats) == 1:
			field.Format = formats[0]
		case i < len(formats):
			field.Format = formats[i]
		}
		d.Fields = append(d.Fields, field)
	}
	return d
}

func (f *fakePG) sendRows(be *pgproto3.Backend) {
	for _, row := range f.rows {
		be.Send(&pgproto3.DataRow{Values: row})
	}
	if f.fail != nil {
		be.Send(f.fail)
		return
	}
	be.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 0")})
}
