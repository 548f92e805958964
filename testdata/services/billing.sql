-- The schema of a billing service: everything in a schema of its own, UUID keys,
-- a double-entry ledger, usage in partitions, documents in jsonb.

CREATE SCHEMA billing;
CREATE SCHEMA audit;
CREATE TYPE billing.subscription_status AS ENUM ('trialing', 'active', 'past_due', 'canceled');
CREATE TYPE billing.invoice_status AS ENUM ('draft', 'open', 'paid', 'void', 'uncollectible');
CREATE TYPE billing.amount AS (value numeric(14,4), currency char(3));
CREATE DOMAIN billing.currency AS char(3) CHECK (VALUE = upper(VALUE));
CREATE DOMAIN billing.cents AS bigint;
CREATE DOMAIN billing.day AS date;

CREATE TABLE billing.customers (
	id uuid PRIMARY KEY, org_id bigint NOT NULL, name text NOT NULL, email text, currency billing.currency NOT NULL DEFAULT 'EUR', balance billing.cents NOT NULL DEFAULT 0,
	tax_ids jsonb NOT NULL DEFAULT '[]', metadata jsonb NOT NULL DEFAULT '{}', livemode bool NOT NULL DEFAULT true, created timestamptz NOT NULL, deleted_at timestamptz
);
CREATE TABLE billing.plans (
	id text PRIMARY KEY, name text NOT NULL, price billing.amount NOT NULL, amount_cents bigint NOT NULL, "interval" text NOT NULL DEFAULT 'month', interval_count int NOT NULL DEFAULT 1,
	trial interval, tiers jsonb, features text[] NOT NULL DEFAULT '{}', active bool NOT NULL DEFAULT true, created timestamptz NOT NULL
);
CREATE TABLE billing.subscriptions (
	id uuid PRIMARY KEY, customer_id uuid NOT NULL REFERENCES billing.customers, plan_id text NOT NULL REFERENCES billing.plans, status billing.subscription_status NOT NULL,
	quantity int NOT NULL DEFAULT 1, period tstzrange NOT NULL, starts_on billing.day NOT NULL, cancel_at timestamptz, canceled_at timestamptz, created timestamptz NOT NULL
);
CREATE TABLE billing.invoices (
	id uuid PRIMARY KEY, number text UNIQUE, customer_id uuid NOT NULL REFERENCES billing.customers, subscription_id uuid REFERENCES billing.subscriptions,
	status billing.invoice_status NOT NULL DEFAULT 'draft', currency billing.currency NOT NULL, subtotal numeric(14,2) NOT NULL, tax numeric(14,2) NOT NULL DEFAULT 0,
	total numeric(14,2) GENERATED ALWAYS AS (subtotal + tax) STORED, amount_paid numeric(14,2) NOT NULL DEFAULT 0, attempt_count smallint NOT NULL DEFAULT 0,
	due_date date, finalized_at timestamptz, paid_at timestamptz, created timestamptz NOT NULL, doc jsonb NOT NULL DEFAULT '{}'
);
CREATE TABLE billing.invoice_lines (
	id bigserial PRIMARY KEY, invoice_id uuid NOT NULL REFERENCES billing.invoices ON DELETE CASCADE, description text NOT NULL, quantity numeric(12,3) NOT NULL, unit_amount numeric(14,4) NOT NULL,
	tax_rate numeric(5,2), period daterange, proration bool NOT NULL DEFAULT false
);
CREATE TABLE billing.payments (
	id uuid PRIMARY KEY, invoice_id uuid REFERENCES billing.invoices, customer_id uuid NOT NULL REFERENCES billing.customers, amount numeric(14,2) NOT NULL, fee money, currency billing.currency NOT NULL,
	method text NOT NULL, state text NOT NULL, failure_code text, card jsonb, created timestamptz NOT NULL
);
CREATE TABLE billing.refunds (id bigserial PRIMARY KEY, payment_id uuid NOT NULL REFERENCES billing.payments, amount numeric(14,2) NOT NULL, reason text, created timestamptz NOT NULL);
CREATE TABLE billing.ledger_accounts (id int PRIMARY KEY, code text NOT NULL UNIQUE, name text NOT NULL, kind text NOT NULL, parent_id int REFERENCES billing.ledger_accounts);
CREATE TABLE billing.ledger_entries (
	id bigserial PRIMARY KEY, tx uuid NOT NULL, account_id int NOT NULL REFERENCES billing.ledger_accounts, debit numeric(18,4) NOT NULL DEFAULT 0, credit numeric(18,4) NOT NULL DEFAULT 0,
	posted_on date NOT NULL, memo text
);
CREATE TABLE billing.usage_events (
	customer_id uuid NOT NULL, meter text NOT NULL, quantity bigint NOT NULL, properties jsonb NOT NULL DEFAULT '{}', idempotency_key text, at timestamptz NOT NULL
) PARTITION BY RANGE (at);
CREATE TABLE billing.usage_events_2024_q1 PARTITION OF billing.usage_events FOR VALUES FROM ('2024-01-01 00:00+00') TO ('2024-04-01 00:00+00') PARTITION BY LIST (meter);
CREATE TABLE billing.usage_events_2024_q1_api PARTITION OF billing.usage_events_2024_q1 FOR VALUES IN ('api');
CREATE TABLE billing.usage_events_2024_q1_other PARTITION OF billing.usage_events_2024_q1 DEFAULT;
CREATE TABLE billing.usage_events_default PARTITION OF billing.usage_events DEFAULT;
CREATE TABLE billing.tax_rates (country char(2) NOT NULL, region text, rate numeric(5,2) NOT NULL, valid daterange NOT NULL);
CREATE TABLE billing.exchange_rates (base char(3) NOT NULL, quote char(3) NOT NULL, rate numeric(18,8) NOT NULL, on_day date NOT NULL, PRIMARY KEY (base, quote, on_day));
CREATE TABLE billing.credits (id bigserial PRIMARY KEY, customer_id uuid NOT NULL REFERENCES billing.customers, amount_cents bigint NOT NULL, expires_at timestamptz, reason text, created timestamptz NOT NULL);
CREATE TABLE billing.api_keys (id bigserial PRIMARY KEY, org_id bigint NOT NULL, key_hash bytea NOT NULL UNIQUE, prefix text NOT NULL, scopes text[] NOT NULL, revoked_at timestamptz, last_used_at timestamptz);
CREATE TABLE billing.webhook_events (id text PRIMARY KEY, type text NOT NULL, payload jsonb NOT NULL, attempts int NOT NULL DEFAULT 0, next_attempt_at timestamptz, delivered_at timestamptz, created timestamptz NOT NULL);
CREATE TABLE billing.org_settings (org_id bigint PRIMARY KEY, settings jsonb NOT NULL);
CREATE TABLE billing.idempotency_keys (key text PRIMARY KEY, response jsonb, expires_at timestamptz NOT NULL);
CREATE TABLE billing.imports (id int PRIMARY KEY, raw_date text, raw jsonb NOT NULL);
CREATE TABLE billing.punches (id int PRIMARY KEY, booked time NOT NULL, booked_at time with time zone NOT NULL);
CREATE TABLE billing.readings (id int PRIMARY KEY, value timestamptz NOT NULL, doc jsonb NOT NULL);
CREATE SEQUENCE billing.invoice_number_seq;
CREATE TABLE audit.log (id bigserial PRIMARY KEY, actor text, action text NOT NULL, target text, diff jsonb, at timestamptz NOT NULL);
CREATE TABLE billing.tenant_customers (id int PRIMARY KEY, tenant_id text NOT NULL, name text);
ALTER TABLE billing.tenant_customers ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON billing.tenant_customers USING (tenant_id = current_setting('app.tenant_id', true));

INSERT INTO billing.customers SELECT md5('customer' || i)::uuid, 1 + i % 3, 'Customer ' || i, 'Billing' || i || '@corp.example', CASE WHEN i % 4 = 0 THEN 'USD' ELSE 'EUR' END, (i - 5) * 100,
	jsonb_build_array(jsonb_build_object('type', 'eu_vat', 'value', 'DE' || i)), jsonb_build_object('crm', 'x' || i, 'tier', CASE WHEN i % 2 = 0 THEN 'gold' ELSE 'basic' END), i % 6 > 0,
	timestamptz '2023-11-01 00:00+00' + i * interval '6 days', CASE WHEN i = 15 THEN timestamptz '2024-02-01 00:00+00' END FROM generate_series(1, 20) i;
INSERT INTO billing.plans VALUES
	('free', 'Free', ROW(0, 'EUR'), 0, 'month', 1, NULL, NULL, '{seats}', true, '2023-01-01 00:00+00'),
	('pro', 'Pro', ROW(29, 'EUR'), 2900, 'month', 1, '14 days', '[{"upto": 100, "cents": 2900}, {"upto": null, "cents": 2500}]', '{seats,sso}', true, '2023-01-02 00:00+00'),
	('ent', 'Enterprise', ROW(990.5, 'EUR'), 99050, 'year', 1, '30 days', NULL, '{seats,sso,audit}', true, '2023-01-03 00:00+00'),
	('old', 'Legacy', ROW(9, 'USD'), 900, 'month', 3, NULL, NULL, '{}', false, '2022-01-01 00:00+00');
INSERT INTO billing.subscriptions SELECT md5('sub' || i)::uuid, md5('customer' || i)::uuid, (ARRAY['free', 'pro', 'ent', 'old'])[1 + i % 4], (ARRAY['trialing', 'active', 'past_due', 'canceled', 'active'])[1 + i % 5]::billing.subscription_status,
	1 + i % 7, tstzrange(timestamptz '2024-01-01 00:00+00' + i * interval '1 day', timestamptz '2024-02-01 00:00+00' + i * interval '1 day'), date '2023-12-01' + i,
	CASE WHEN i % 5 = 0 THEN timestamptz '2024-06-01 00:00+00' END, CASE WHEN i % 5 = 3 THEN timestamptz '2024-01-20 00:00+00' END, timestamptz '2023-12-01 00:00+00' + i * interval '1 day' FROM generate_series(1, 20) i;
INSERT INTO billing.invoices (id, number, customer_id, subscription_id, status, currency, subtotal, tax, amount_paid, attempt_count, due_date, finalized_at, paid_at, created, doc)
	SELECT md5('inv' || i)::uuid, 'INV-' || to_char(i, 'FM00000'), md5('customer' || 1 + i % 20)::uuid, md5('sub' || 1 + i % 20)::uuid, (ARRAY['draft', 'open', 'paid', 'paid', 'void'])[1 + i % 5]::billing.invoice_status,
		'EUR', 10 + i * 3.33, round((10 + i * 3.33) * 0.19, 2), CASE WHEN i % 5 IN (2, 3) THEN round((10 + i * 3.33) * 1.19, 2) ELSE 0 END, i % 3, date '2024-01-15' + i, timestamptz '2024-01-02 00:00+00' + i * interval '1 day',
		CASE WHEN i % 5 IN (2, 3) THEN timestamptz '2024-01-05 12:00+00' + i * interval '1 day' END, timestamptz '2024-01-01 00:00+00' + i * interval '1 day',
		jsonb_build_object('footer', 'f' || i, 'lines', jsonb_build_array(jsonb_build_object('d', 'seat', 'cents', i * 100), jsonb_build_object('d', 'usage', 'cents', i))) FROM generate_series(1, 60) i;
INSERT INTO billing.invoice_lines (invoice_id, description, quantity, unit_amount, tax_rate, period, proration)
	SELECT md5('inv' || 1 + i % 60)::uuid, 'Line ' || i, 1 + i % 4, 5 + i * 0.25, CASE WHEN i % 3 > 0 THEN 19 END, daterange(date '2024-01-01' + i % 30, date '2024-02-01' + i % 30), i % 10 = 0 FROM generate_series(1, 150) i;
INSERT INTO billing.payments SELECT md5('pay' || i)::uuid, md5('inv' || i)::uuid, md5('customer' || 1 + i % 20)::uuid, 12 + i, (0.3 + i * 0.01)::numeric::money, 'EUR', (ARRAY['card', 'sepa'])[1 + i % 2], CASE WHEN i % 6 = 0 THEN 'failed' ELSE 'succeeded' END,
	CASE WHEN i % 6 = 0 THEN 'card_declined' END, jsonb_build_object('brand', 'visa', 'last4', to_char(i, 'FM0000'), 'exp_year', 2024 + i % 4), timestamptz '2024-01-05 12:00+00' + i * interval '13 hours' FROM generate_series(1, 60) i;
INSERT INTO billing.refunds (payment_id, amount, reason, created) SELECT md5('pay' || i * 5)::uuid, 2 + i, 'requested', timestamptz '2024-02-01 00:00+00' + i * interval '1 day' FROM generate_series(1, 10) i;
INSERT INTO billing.ledger_accounts VALUES (1, '1000', 'Assets', 'asset', NULL), (2, '1100', 'Cash', 'asset', 1), (3, '1200', 'Receivables', 'asset', 1), (4, '4000', 'Revenue', 'income', NULL), (5, '2200', 'VAT', 'liability', NULL);
INSERT INTO billing.ledger_entries (tx, account_id, debit, credit, posted_on, memo) SELECT md5('tx' || i)::uuid, 2 + (i + s) % 4, CASE WHEN s = 0 THEN i * 1.5 ELSE 0 END, CASE WHEN s = 1 THEN i * 1.5 ELSE 0 END, date '2024-01-01' + i, 'memo ' || i FROM generate_series(1, 50) i, generate_series(0, 1) s;
INSERT INTO billing.usage_events SELECT md5('customer' || 1 + i % 20)::uuid, (ARRAY['api', 'storage', 'seats'])[1 + i % 3], i * 3, jsonb_build_object('region', CASE WHEN i % 2 = 0 THEN 'eu' ELSE 'us' END, 'ms', i), 'k' || i, timestamptz '2024-01-01 00:30+00' + i * interval '5 hours' FROM generate_series(1, 200) i;
INSERT INTO billing.tax_rates VALUES ('DE', NULL, 19, '[2021-01-01,)'), ('DE', NULL, 16, '[2020-07-01,2021-01-01)'), ('US', 'CA', 7.25, '[2020-01-01,)');
INSERT INTO billing.exchange_rates SELECT 'EUR', q, 1 + d * 0.001, date '2024-01-01' + d FROM unnest(ARRAY['USD', 'GBP']) q, generate_series(0, 30) d;
INSERT INTO billing.credits (customer_id, amount_cents, expires_at, reason, created) SELECT md5('customer' || i)::uuid, i * 50, timestamptz '2024-12-01 00:00+00', 'goodwill', timestamptz '2024-01-01 00:00+00' FROM generate_series(1, 10) i;
INSERT INTO billing.api_keys (org_id, key_hash, prefix, scopes, revoked_at) SELECT 1 + i % 3, sha256(('key' || i)::bytea), 'sk_' || i, ARRAY['read', 'w' || i % 2], CASE WHEN i = 3 THEN timestamptz '2024-01-01 00:00+00' END FROM generate_series(1, 6) i;
INSERT INTO billing.webhook_events SELECT 'evt_' || i, (ARRAY['invoice.paid', 'invoice.created', 'customer.updated'])[1 + i % 3], jsonb_build_object('data', jsonb_build_object('object', jsonb_build_object('id', i, 'total', i * 10, 'at', '2024-01-01'))), i % 3, NULL,
	CASE WHEN i % 2 = 0 THEN timestamptz '2024-02-01 00:00+00' END, timestamptz '2024-02-01 00:00+00' + i * interval '1 minute' FROM generate_series(1, 20) i;
INSERT INTO billing.org_settings VALUES (1, '{"tax": {"mode": "exclusive"}, "net_days": 30}'), (2, '{"net_days": 14}');
INSERT INTO billing.idempotency_keys VALUES ('k1', '{"ok": true}', '2024-01-01 00:00+00');
INSERT INTO billing.imports VALUES (1, '2024-01-31', '{"booked": "2024-01-30", "amount": "12.50"}'), (2, 'today', '{"booked": "now", "amount": "1"}');
INSERT INTO billing.punches VALUES (1, '10:00', '10:00+02'), (2, '11:00', '11:00+02');
INSERT INTO billing.readings VALUES (1, '2024-01-01 00:00+00', '{"a": "2024-01-31", "b": "today"}'), (2, '2024-01-02 00:00+00', '{}');
INSERT INTO audit.log (actor, action, target, diff, at) SELECT 'user' || i % 4, (ARRAY['create', 'update', 'delete'])[1 + i % 3], 'invoice/' || i, jsonb_build_object('old', i, 'new', i + 1), timestamptz '2024-02-01 00:00+00' + i * interval '1 hour' FROM generate_series(1, 40) i;

CREATE VIEW billing.open_invoices AS SELECT * FROM billing.invoices WHERE status = 'open';
CREATE VIEW billing.customer_balances AS
	SELECT c.id, c.name, coalesce(sum(i.total - i.amount_paid) FILTER (WHERE i.status = 'open'), 0) AS due, count(i.id) FILTER (WHERE i.status = 'open') AS open_invoices
	FROM billing.customers c LEFT JOIN billing.invoices i ON i.customer_id = c.id GROUP BY c.id, c.name;
CREATE VIEW billing.debtors AS SELECT b.*, rank() OVER (ORDER BY b.due DESC) AS rank FROM billing.customer_balances b WHERE b.due > 0;
CREATE VIEW billing.mrr AS
	SELECT s.plan_id, sum(CASE p."interval" WHEN 'year' THEN p.amount_cents / 12.0 ELSE p.amount_cents::numeric / p.interval_count END * s.quantity) AS mrr_cents
	FROM billing.subscriptions s JOIN billing.plans p ON p.id = s.plan_id WHERE s.status IN ('active', 'past_due') GROUP BY s.plan_id;
CREATE MATERIALIZED VIEW billing.revenue_monthly AS
	SELECT to_char(date_trunc('month', created AT TIME ZONE 'UTC'), 'YYYY-MM') AS month, currency, sum(total) AS revenue, count(*) AS invoices FROM billing.invoices WHERE status = 'paid' GROUP BY 1, 2;
CREATE VIEW billing.overdue AS SELECT id, number, total FROM billing.invoices WHERE status = 'open' AND due_date < current_date;
CREATE FUNCTION billing.to_major(cents bigint) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT cents / 100.0';
CREATE FUNCTION billing.balance_of(c uuid) RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT balance FROM billing.customers WHERE id = c); END';
CREATE FUNCTION billing.touch(k text) RETURNS bool LANGUAGE sql VOLATILE AS $$ UPDATE billing.api_keys SET last_used_at = now() WHERE prefix = k RETURNING true $$;
CREATE VIEW billing.import_days AS SELECT id, raw_date::date AS day FROM billing.imports WHERE id = 1;
CREATE VIEW billing.import_weeks AS SELECT date_trunc('week', day) AS week, count(*) FROM billing.import_days GROUP BY 1;
CREATE VIEW billing.import_texts AS SELECT id, raw_date AS created FROM billing.imports;
CREATE VIEW billing.tenant_view AS SELECT t.id, p.name FROM billing.tenant_customers t CROSS JOIN billing.plans p;
CREATE VIEW billing.balances_slow AS SELECT id, billing.balance_of(id) AS balance FROM billing.customers;
CREATE VIEW billing.audit_mine AS SELECT id FROM audit.log WHERE actor = current_setting('app.actor', true);
ANALYZE;
