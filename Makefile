# make test    all modules' tests, on Go 1.26 and 1.27
# make test-versions  what asks the server, on PostgreSQL 13, 15, 17 and 18
# make demo    the demo; make demo DSN=… on a server of yours
# make oracle  the scanner against PostgreSQL's grammar and a server, at length
# make fuzz    each fuzz target for FUZZTIME
# make lint    gofmt, vet, staticcheck, go mod tidy
# make vuln    govulncheck, with a database built offline

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

# The modules that are tested and checked. tools has no code of its own.
MODULES := . cmd internal/pgtest/pgcontainer
# PostgreSQL's grammar in C takes minutes to compile, and again for -race and for
# each release of Go: what holds the scanner against it does without these. It
# starts no goroutines, and nothing that ships uses it.
ORACLE := internal/oracle
CHECKED := $(MODULES) $(ORACLE)
TIDY_MODULES := $(CHECKED) tools

# The older and the newer release that the modules are for. Where one is not
# installed, go fetches it as a module.
GO ?= go
GO127 ?= go1.27.3
# The modules that are tested with the newer one as well.
MODULES127 := . cmd

TESTFLAGS ?=
TEST := $(GO) test -race -shuffle=on -timeout 20m $(TESTFLAGS)
FUZZTIME ?= 60s
BUILD := $(CURDIR)/.build

# Each module by itself, with the versions that its own go.mod names: what a
# user of it gets.
alone := GOWORK=off

# Makes each module, or each of $(2), the current one and runs $(1) there.
define in-each
for module in $(or $(2),$(MODULES)); do \
	echo "== $$module: $(strip $(1))"; \
	(cd $$module && $(alone) $(1)) || exit 1; \
done
endef

.PHONY: test test-modules test-oracle test-127 test-hash test-versions
test: export CACHEDPGX_TEST_SKIPS := $(BUILD)/skips
test:
	@mkdir -p $(BUILD); rm -f $(BUILD)/skips
	@$(MAKE) --no-print-directory test-modules test-hash test-oracle test-127 && status=0 || status=$$?; \
	if [ -s $(BUILD)/skips ]; then \
		echo; echo "*** Tests were SKIPPED for want of PostgreSQL:"; cat $(BUILD)/skips; \
	fi; \
	exit $$status

test-modules:
	@$(call in-each,$(TEST) ./...)

# No hash is an identity: with a constant one everybody still gets their own.
test-hash:
	@echo "== with a constant hash"
	@$(alone) $(TEST) -tags cachedpgx_constant_hash -run '^Test(Keys|Arguments|Equal|Nil|Texts|Flight|Storm|Tag|PGOneCall|PGTexts|PGPromiseTags)' .

test-oracle:
	@$(call in-each,$(GO) test -shuffle=on $(TESTFLAGS) ./...,$(ORACLE))

test-127:
	@for module in $(MODULES127); do \
		echo "== $$module: GOTOOLCHAIN=$(GO127) $(TEST) ./..."; \
		(cd $$module && $(alone) GOTOOLCHAIN=$(GO127) $(TEST) ./...) || exit 1; \
	done

# VERSIONS="13 18" selects.
test-versions: export VERSIONS := $(VERSIONS)
test-versions: export TESTFLAGS := $(TESTFLAGS)
test-versions:
	@.ci/versions

# What go run ./cmd/cachedpgx demo does, without go run between Ctrl-C and the
# demo. A DSN given to make is in the recipe's environment, quoting and all.
.PHONY: demo
demo:
	@$(GO) build -o $(BUILD)/cachedpgx ./cmd/cachedpgx
	@exec $(BUILD)/cachedpgx demo $${DSN:+--dsn "$$DSN"}

# CACHEDPGX_ORACLE=0.1 tries a tenth of the statements; CACHEDPGX_CORPUS names a
# folder of .sql files to try as well, such as PostgreSQL's src/test/regress/sql.
.PHONY: oracle
oracle: export CACHEDPGX_ORACLE ?= 1
oracle:
	@$(call in-each,nice $(GO) test -v -timeout 90m $(TESTFLAGS) ./...,$(ORACLE))

.PHONY: fuzz
fuzz:
	@for module in $(CHECKED); do \
		(cd $$module && export $(alone) && \
		for package in $$($(GO) list ./...); do \
			targets=$$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); \
			for target in $$targets; do \
				echo "== $$package $$target, $(FUZZTIME)"; \
				$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
			done; \
		done) || exit 1; \
	done

.PHONY: lint fmt vet staticcheck tidy
lint: fmt vet staticcheck tidy

# Files that git does not know yet are looked at, too.
fmt:
	@unformatted=$$(git ls-files --cached --others --exclude-standard -- '*.go' | \
		while read -r file; do [ ! -e "$$file" ] || echo "$$file"; done | xargs -r gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi

vet:
	@$(call in-each,$(GO) vet ./...,$(CHECKED))

# The tools' versions are pinned in tools/go.mod.
tool := $(GO) tool -modfile=$(CURDIR)/tools/go.mod

staticcheck:
	@$(call in-each,$(tool) staticcheck ./...,$(CHECKED))

# -diff fails where there is a difference.
tidy:
	@for module in $(TIDY_MODULES); do \
		echo "== $$module: go mod tidy -diff"; \
		(cd $$module && $(alone) $(GO) mod tidy -diff) || exit 1; \
	done

# A known fault of the standard library is mended by the release of Go that a
# program is built with, and not here: the scan takes the newer one.
#
# The database of known faults is built from the module that its entries are
# kept in. To look for newer ones:
#   cd tools && go get golang.org/x/vulndb/cmd/indexdb@latest && go mod tidy
.PHONY: vuln
vuln: $(BUILD)/vulndb
	@$(call in-each,GOTOOLCHAIN=$(GO127) $(tool) govulncheck -db file://$(BUILD)/vulndb ./...)

$(BUILD)/vulndb: tools/go.mod
	@rm -rf $@ $@.new; mkdir -p $(BUILD)
	@cd tools && $(alone) $(GO) mod download golang.org/x/vulndb && \
	entries=$$($(alone) $(GO) list -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv && \
	$(alone) $(GO) tool indexdb -vulns "$$entries" -out $@.new
	@mv $@.new $@; touch $@

.PHONY: clean
clean:
	rm -rf $(BUILD)
