package demo

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
	"github.com/jackc/pgx/v5"
	"github.com/ulikunitz/xz"
)

// fakeRepository serves archives as the module embedded-postgres wants them.
// What is in them are scripts that run the server's programs of this machine.
type fakeRepository struct {
	*httptest.Server
	downloads atomic.Int32
}

func newFakeRepository(t *testing.T, files map[string]string, damaged bool) *fakeRepository {
	archive := fakeArchive(t, files)
	sum := sha256.Sum256(archive)
	if damaged {
		sum[0]++
	}
	f := &fakeRepository{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case files == nil:
			http.NotFound(w, req)
		case strings.HasSuffix(req.URL.Path, ".sha256"):
			fmt.Fprint(w, hex.EncodeToString(sum[:]))
		default:
			f.downloads.Add(1)
			w.Write(archive)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

// fakeArchive is a zip file that holds a tar.xz, which holds files.
func fakeArchive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var packed, jar bytes.Buffer
	x, err := xz.NewWriter(&packed)
	check(err)
	tw := tar.NewWriter(x)
	for name, text := range files {
		check(tw.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}))
		_, err := tw.Write([]byte(text))
		check(err)
	}
	check(tw.Close())
	check(x.Close())
	zw := zip.NewWriter(&jar)
	w, err := zw.Create("postgres-fake.txz")
	check(err)
	_, err = w.Write(packed.Bytes())
	check(err)
	check(zw.Close())
	return jar.Bytes()
}

// localServer are scripts that run this machine's own server.
func localServer(t *testing.T) map[string]string {
	t.Helper()
	postgres, err := exec.LookPath("postgres")
	if err == nil {
		postgres, err = filepath.EvalSymlinks(postgres)
	}
	if err != nil {
		t.Skipf("SKIPPED: the fake download runs a server of this machine, and there is none in PATH: %v", err)
	}
	files := map[string]string{}
	for _, name := range []string{"initdb", "pg_ctl", "postgres"} {
		files["bin/"+name] = fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", filepath.Join(filepath.Dir(postgres), name))
	}
	return files
}

func TestEmbedded(t *testing.T) {
	files := localServer(t)
	cache := t.TempDir()
	tmp := reachableDir(t)
	t.Setenv("TMPDIR", tmp)
	f := newFakeRepository(t, files, false)

	// The second time it is found in the cache.
	for range 2 {
		s, err := startEmbedded(t.Context(), embeddedpostgres.DefaultConfig().BinaryRepositoryURL(f.URL), cache, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.Connect(t.Context(), s.DSN())
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		conn.Close(t.Context())
		if s.Source() != SourceEmbedded {
			t.Errorf("Source = %q", s.Source())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
	if n := f.downloads.Load(); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
}

func TestEmbeddedFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   map[string]string
		damaged bool
		want    string
	}{
		{"nothing to download", nil, false, "no version found"},
		{"a damaged download", map[string]string{"bin/pg_ctl": ""}, true, "checksums do not match"},
		{"no server in it", map[string]string{"README": "nothing"}, false, "downloading a server"},
		{"a server that does not run", map[string]string{
			"bin/initdb": "#!/bin/sh\necho wrong machine; exit 1\n", "bin/pg_ctl": "#!/bin/sh\nexit 1\n", "bin/postgres": "#!/bin/sh\nexit 1\n",
		}, false, "wrong machine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := t.TempDir()
			tmp := reachableDir(t)
			t.Setenv("TMPDIR", tmp)
			f := newFakeRepository(t, c.files, c.damaged)
			s, err := startEmbedded(t.Context(), embeddedpostgres.DefaultConfig().BinaryRepositoryURL(f.URL), cache, t.Logf)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestEmbeddedInterrupted(t *testing.T) {
	cache := t.TempDir()
	tmp := reachableDir(t)
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel() // in the middle of the download
		<-release
	}))
	defer slow.Close()
	defer close(release)
	_, err := startEmbedded(ctx, embeddedpostgres.DefaultConfig().BinaryRepositoryURL(slow.URL), cache, t.Logf)
	if !OnlyInterrupted(err) {
		t.Errorf("%v, want an interruption", err)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// reachableDir is a folder that the server's user can get to, and whose path
// leaves room for a socket's name.
func reachableDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "demo-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
