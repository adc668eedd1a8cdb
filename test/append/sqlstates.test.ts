import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { commitBatch } from '../../src/append/commit.ts'
import { classifyFailure, isUnavailable } from '../../src/db/connect/failures.ts'
import { getEmbeddedBinaries } from '../../src/run/postgres/binaries.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import { connect, openTestPool } from '../helpers/connect.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { createTestLedger, makeEntry } from '../helpers/test-ledger.ts'

type State = { readonly code: string; readonly name: string }

/** Parses lines such as `22012    E    ERRCODE_DIVISION_BY_ZERO    division_by_zero`. `E` means an error. */
function readErrorCodes(): State[] {
  const file = join(getEmbeddedBinaries(), '..', 'share', 'postgresql', 'errcodes.txt')
  const lines = readFileSync(file, 'utf8').matchAll(/^([0-9A-Z]{5})\s+E\s+ERRCODE_(\w+)/gm)
  const found = [...lines].map(([, code, name]) => ({ code: code!, name: name!.toLowerCase() }))
  assert.ok(found.length > 200, 'the list is read')
  return found
}

/** Returns the kind of a failure by the guarantees of docs/operate/postgres.md. Implemented independently of src/. */
function expectedKind({ code }: State, severity: string): string {
  const sqlClass = code.slice(0, 2)
  if (['57014', '57P03'].includes(code)) return 'unavailable'
  if (code === '40003' || ['08', '57', '58', 'XX'].includes(sqlClass)) return 'unknown'
  if (severity !== 'ERROR') return ['28', '53'].includes(sqlClass) ? 'unavailable' : 'unknown'
  if (['40001', '40P01'].includes(code)) return 'deadlock'
  return ['22', '23'].includes(sqlClass) || ['P0001', 'P0002'].includes(code) ? 'data' : 'unavailable'
}

function errorOf({ code }: State, severity: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('said', 4, 'error'), { code, severity })
}

test('classifies every Postgres error code as data, unavailable or unknown', () => {
  for (const state of readErrorCodes()) {
    for (const severity of ['ERROR', 'FATAL', 'PANIC']) {
      const error = errorOf(state, severity)
      const expected = expectedKind(state, severity)
      assert.equal(classifyFailure(error).kind, expected, `${severity} ${state.code} ${state.name}`)
      assert.equal(
        isUnavailable(error),
        expected !== 'data',
        `a read: ${severity} ${state.code} ${state.name}`,
      )
    }
  }
  const moving = { ...errorOf({ code: '55000', name: '' }, 'ERROR'), constraint: 'ledger_moving' }
  assert.equal(classifyFailure(Object.assign(new pg.DatabaseError('', 0, 'error'), moving)).kind, 'data')
})

const PHASES = ['before', 'during'] as const
const LANES = 6

test('an error of each class, raised before and during commit, has its outcome; only data errors keep the connection', async (t) => {
  const database = await createTestDatabase(t)
  const owner = await connect(t, database.ownerUrl)
  await owner.query(`
    create function public.raise_state() returns trigger language plpgsql as $$
    declare state text := substring(encode(new.envelope, 'escape') from '^' || tg_argv[0] || ' ([0-9A-Z]{5})$');
    begin if state is not null then raise exception 'asked for' using errcode = state; end if; return new; end $$;
    create trigger before_commit before insert on tallystick.entries for each row execute function public.raise_state('before');
    create constraint trigger during_commit after insert on tallystick.entries deferrable initially deferred
      for each row execute function public.raise_state('during')`)
  const ledger = await createTestLedger(await connect(t, database.apiUrl))
  const size = await checkLedger(owner, ledger.id)
  const firsts = new Map(readErrorCodes().map((state) => [state.code.slice(0, 2), state]))
  const states = [...firsts.values(), ...readErrorCodes().filter(({ code }) => OTHERS.includes(code))]
  const cases = PHASES.flatMap((phase) => states.map((state) => ({ phase, state })))
  await Promise.all(
    Array.from({ length: LANES }, (_, lane) => walk(cases.filter((_, i) => i % LANES === lane))),
  )
  assert.equal(await checkLedger(owner, ledger.id), size)

  async function walk(some: typeof cases): Promise<void> {
    const pool = openTestPool(database.apiUrl, { max: 1 })
    t.after(() => pool.end())
    const pid = async () => (await pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid
    for (const { phase, state } of some) {
      const expected = expectedKind(state, 'ERROR')
      const before = await pid()
      const entry = makeEntry(ledger, { envelope: Buffer.from(`${phase} ${state.code}`) })
      const [outcome] = await commitBatch(pool, [entry])
      const what = `${phase} ${state.code} ${state.name}`
      assert.equal(outcome!.status, STATUSES[expected], what)
      assert.equal((await pid()) === before, ['data', 'deadlock'].includes(expected), `connection: ${what}`)
    }
  }
})

/**
 * Codes that are tested in addition to one code of each class. They were once answered 500, or they are exceptions
 * within their class.
 */
const OTHERS = ['40001', '40003', '25P03', '42P01', '55006', '57014', '22021', '22P05', 'P0001', '25006']

const STATUSES: Readonly<Record<string, string>> = {
  data: 'failed',
  deadlock: 'unavailable',
  unavailable: 'unavailable',
  unknown: 'unknown',
}

test('an entry that meets a database limit fails alone; an error of all entries costs few calls', async (t) => {
  const database = await createTestDatabase(t)
  const owner = await connect(t, database.ownerUrl)
  await owner.query(`
    create sequence public.calls;
    grant usage on sequence public.calls to tallystick_api;
    create function public.raise_state() returns trigger language plpgsql as $$
    begin
      perform nextval('public.calls');
      if exists (select from added where length(envelope) = 77) then
        raise exception 'index row size exceeds maximum' using errcode = '54000';
      end if;
      return null;
    end $$;
    create trigger limits after insert on tallystick.entries referencing new table as added
      for each statement execute function public.raise_state()`)
  const ledger = await createTestLedger(await connect(t, database.apiUrl))
  const pool = openTestPool(database.apiUrl, { max: 1 })
  t.after(() => pool.end())
  const large = () => makeEntry(ledger, { envelope: Buffer.alloc(77, 1) })
  const entries = Array.from({ length: 8 }, (_, i) => (i === 5 ? large() : makeEntry(ledger)))
  const outcomes = await commitBatch(pool, entries)
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    entries.map((_, i) => (i === 5 ? 'unavailable' : 'appended')),
  )
  await owner.query("select setval('public.calls', 1, false)")
  const all = await commitBatch(pool, Array.from({ length: 64 }, large))
  assert.ok(all.every(({ status }) => status === 'unavailable'))
  const { rows } = await owner.query<{ calls: number }>('select last_value::int as calls from public.calls')
  assert.ok(rows[0]!.calls <= 6, `${rows[0]!.calls} calls`)
})
