import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { EntryRow } from '../../../src/db/chain/append-entries.ts'
import type { Caller } from '../../../src/ledgers/caller.ts'
import { formatId, parseId, type Uuid } from '../../../src/proof/ids.ts'
import { type GatedEvent, signEvent } from '../../../src/records/gated/sign-step.ts'
import { database } from '../../../src/verify/database.ts'
import { exportFile } from '../../../src/verify/export-file.ts'
import type { VerifyFailure } from '../../../src/verify/report.ts'
import type { LedgerSource } from '../../../src/verify/source.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { FAILING, type GatedApp, lendGatedApp } from '../../helpers/gated-app.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { appendAsApi } from './attacker.ts'
import { type AuditTest, auditOf, followAll, openFaults, undefended } from './set-up.ts'

/*
 * The database's owner moves gated records without a signing key. The owner has removed triggers, constraints and the
 * unique index, and keeps all columns consistent. The worker's follower finds such changes in new entries. An audit
 * finds them in older entries.
 */

type Attacked = AuditTest<GatedApp>

/** A database without the unique index and the checks of gated records. */
const UNGUARDED = {
  schema: `drop index tallystick.entries_by_record;
    do $$ declare drops text; begin
      select string_agg(format('alter table %s drop constraint %I', conrelid::regclass, conname), ';') into drops
      from pg_constraint
      where contype = 'c' and conrelid in ('tallystick.gated_records'::regclass, 'tallystick.documents'::regclass);
      execute drops;
    end $$`,
}

async function setUp(t: TestContext): Promise<Attacked> {
  return auditOf(t, await lendGatedApp(t, UNGUARDED))
}

async function findFailure(source: LedgerSource): Promise<VerifyFailure | null> {
  return (await verifyLedger(source, { threads: 1 })).failure
}

async function foundByVerify({ app }: Attacked): Promise<string> {
  const failure = await findFailure(database(app.database.superuserUrl, null))
  return failure ? `${failure.seq} ${failure.code} ${failure.reason}` : 'nothing'
}

async function foundByFollower(audit: Attacked): Promise<string> {
  await followAll(audit)
  const [fault] = await openFaults(audit)
  return fault ? `${fault.seq} ${fault.code} ${fault.reason}` : 'nothing'
}

/**
 * Copies the newest entry that `of` selects to the end of the chain, with its document. `columns`: values that replace
 * those of the copied entry. Returns the copy's seq.
 */
async function appendAgain(audit: Attacked, of: string, columns: Record<string, string>): Promise<number> {
  const changes = Object.entries(columns).map(([name, value]) => `, '${name}', ${value}`)
  const [head] = await audit.app.sql<{ size: string }>('select size from tallystick.chain_heads')
  await undefended(
    audit,
    `create temporary table again as
       select e.*, e.seq as old_seq, h.size as new_seq, sha256('\\x02'::bytea || h.chain || e.leaf) as new_chain
       from tallystick.entries e join tallystick.chain_heads h using (ledger_id)
       where ${of} order by e.seq desc limit 1;
     insert into tallystick.entries select (jsonb_populate_record(e, jsonb_build_object('seq', a.new_seq,
       'chain', a.new_chain${changes.join('')}))).*
       from again a join tallystick.entries e on e.ledger_id = a.ledger_id and e.seq = a.old_seq;
     insert into tallystick.documents select (jsonb_populate_record(d, jsonb_build_object('seq', a.new_seq))).*
       from again a join tallystick.documents d on d.ledger_id = a.ledger_id and d.seq = a.old_seq;
     update tallystick.chain_heads h set size = h.size + 1, chain = a.new_chain from again a;
     drop table again`,
  )
  return Number(head!.size)
}

/**
 * Makes a record whose first completion was verified with `pass` and sent back, and whose second completion was
 * delivered. The follower has verified all entries so far.
 */
async function deliverTwice(audit: Attacked): Promise<string> {
  const { id } = await audit.app.reach('VERIFIED')
  await audit.app.take(id, 'revision')
  await audit.app.take(id, 'completions', { body: { evidence: FAILING } })
  await followAll(audit)
  assert.deepEqual(await openFaults(audit), [])
  return id
}

const OLD_PASS = "e.kind = 'completion-verified'"

for (const [way, columns, version, expected] of [
  ['as the step that it was', {}, 4, /columns_contradict_entries entries.prev_seq/],
  [
    'as the next step',
    { version: '7', prev_seq: 'a.new_seq - 1' },
    7,
    /columns_contradict_entries entries.version/,
  ],
] as const) {
  test(`the follower, the audit and the export find an old verification inserted again ${way}`, async (t) => {
    const audit = await setUp(t)
    await deliverTwice(audit)
    const seq = await appendAgain(audit, OLD_PASS, columns)
    await undefended(
      audit,
      `update tallystick.gated_records set state = 'VERIFIED', version = ${version}, last_seq = ${seq}`,
    )
    for (const found of [await foundByFollower(audit), await foundByVerify(audit)]) {
      assert.match(found, expected)
      assert.match(found, new RegExp(`^${seq} `))
    }
    const { body } = await audit.app.send('GET', '/v1/export')
    const failure = await findFailure(exportFile(temporaryFiles(t).write('ledger.ndjson', body)))
    assert.deepEqual([failure?.seq, failure?.code], [seq, 'duplicate_envelope'])
  })
}

test('an audit finds an old verification although all later steps were hidden from the follower', async (t) => {
  const audit = await setUp(t)
  await deliverTwice(audit)
  await undefended(audit, 'update tallystick.entries set version = null where version > 3')
  const seq = await appendAgain(audit, OLD_PASS, { version: '4' })
  await undefended(
    audit,
    `update tallystick.gated_records set state = 'VERIFIED', version = 4, last_seq = ${seq}, revisions = 0`,
  )
  assert.equal(await foundByFollower(audit), 'nothing')
  assert.match(await foundByVerify(audit), /columns_contradict_entries entries.version/)
})

test('finds a genuine verification copied from another record', async (t) => {
  const audit = await setUp(t)
  const victim = await deliverTwice(audit)
  await audit.app.reach('VERIFIED')
  await followAll(audit)
  const [row] = await audit.app.sql<{ record_id: string; last_seq: string }>(
    "select record_id, last_seq from tallystick.gated_records where state = 'SUBMITTED'",
  )
  const seq = await appendAgain(audit, OLD_PASS, {
    subject_id: `'${row!.record_id}'::uuid`,
    version: '7',
    prev_seq: row!.last_seq,
  })
  await undefended(
    audit,
    `update tallystick.gated_records set state = 'VERIFIED', version = 7, last_seq = ${seq}
     where record_id = '${row!.record_id}'`,
  )
  assert.equal((await audit.app.get(victim)).state, 'VERIFIED', 'the columns fit')
  const expected = new RegExp(`^${seq} columns_contradict_entries entries.subject_id`)
  assert.match(await foundByFollower(audit), expected)
  assert.match(await foundByVerify(audit), expected)
})

test('finds a verification with an invalid signature', async (t) => {
  const audit = await setUp(t)
  await deliverTwice(audit)
  // Changes one bit of the signature, and changes the leaf to match.
  const envelope =
    'set_byte(e.envelope, length(e.envelope) - 1, get_byte(e.envelope, length(e.envelope) - 1) # 1)'
  const seq = await appendAgain(audit, OLD_PASS, {
    version: '7',
    prev_seq: 'a.new_seq - 1',
    envelope,
    leaf: `sha256('\\x00'::bytea || ${envelope})`,
    chain: `sha256('\\x02'::bytea || (select chain from tallystick.chain_heads) || sha256('\\x00'::bytea || ${envelope}))`,
  })
  await undefended(
    audit,
    `update tallystick.gated_records set state = 'VERIFIED', version = 7, last_seq = ${seq};
     update tallystick.chain_heads set chain = (select chain from tallystick.entries where seq = ${seq})`,
  )
  const expected = new RegExp(`^${seq} signature_invalid`)
  assert.match(await foundByFollower(audit), expected)
  assert.match(await foundByVerify(audit), expected)
})

for (const [what, change, expected] of [
  [
    'rolled back to an earlier step',
    "state = 'ACTIVE', version = 2, last_seq = first_seq + 1",
    /columns_contradict_entries gated_records.last_seq/,
  ],
  [
    'moved on to a step of another record',
    "state = 'ACTIVE', version = 9, last_seq = (select seq from tallystick.entries where kind = 'record-notarized')",
    /columns_contradict_entries gated_records.last_seq/,
  ],
  ['given another state', "state = 'VERIFIED'", /columns_contradict_entries gated_records.state/],
  ['given another version', 'version = version + 1', /columns_contradict_entries gated_records.version/],
  [
    'given another performer',
    'performer_id = gen_random_uuid()',
    /columns_contradict_entries gated_records.performer_id/,
  ],
  [
    'left without a performer',
    'performer_id = null',
    /columns_contradict_entries gated_records.performer_id/,
  ],
  [
    'given another principal',
    'principal_id = gen_random_uuid()',
    /columns_contradict_entries gated_records.principal_id/,
  ],
  [
    'given more time',
    "deadline = now() + interval '1 day'",
    /columns_contradict_entries gated_records.deadline/,
  ],
  ['given another gate', "gate = 'auto'", /columns_contradict_entries gated_records.gate/],
  ['given more revisions', 'max_revisions = 100', /columns_contradict_entries gated_records.max_revisions/],
  ['given tolerances', "tolerances = '{}'", /columns_contradict_entries gated_records.tolerances/],
] as const) {
  test(`follower and audit find a gated record that was ${what}`, async (t) => {
    const audit = await setUp(t)
    await audit.app.reach('SUBMITTED', { performer: undefined })
    await audit.app.notarize()
    await undefended(audit, `update tallystick.gated_records set ${change}`)
    assert.match(await foundByFollower(audit), expected)
    assert.match(await foundByVerify(audit), expected)
  })
}

/** Drops the generated expression, so that a row can be copied as a whole. */
const COPYABLE = 'alter table tallystick.gated_records alter column ended_as drop expression if exists'

test('only the audit finds changed revisions, and a changed performer of a record never activated', async (t) => {
  const audit = await setUp(t)
  const { id } = await audit.app.reach('VERIFIED')
  await audit.app.take(id, 'revision')
  await audit.app.reach('CANCELLED', { performer: undefined })
  await followAll(audit)
  for (const [change, expected] of [
    ["revisions = 0 where state = 'ACTIVE'", /gated_records.revisions/],
    ["performer_id = gen_random_uuid() where state = 'CANCELLED'", /gated_records.performer_id/],
  ] as const) {
    await audit.app.sql('create table kept as table tallystick.gated_records')
    await undefended(audit, `update tallystick.gated_records set ${change}`)
    assert.match(await foundByVerify(audit), expected)
    await undefended(
      audit,
      `${COPYABLE}; delete from tallystick.gated_records; insert into tallystick.gated_records table kept; drop table kept`,
    )
  }
  assert.equal(await foundByVerify(audit), 'nothing')
})

for (const [what, sql, expected] of [
  ['row is deleted', 'delete from tallystick.gated_records', /gated_records: 0 rows of rec_/],
  [
    'row is there twice',
    `${COPYABLE}; alter table tallystick.gated_records drop constraint gated_records_pkey; insert into tallystick.gated_records table tallystick.gated_records`,
    /gated_records: 2 rows of rec_/,
  ],
  ['document is deleted', 'delete from tallystick.documents', /document_presence/],
  [
    'document is another one',
    `update tallystick.documents set content = '{"quantity":95}'`,
    /document_digest/,
  ],
  [
    'document is written otherwise',
    `update tallystick.documents set content = convert_to(' ' || convert_from(content, 'UTF8'), 'UTF8')`,
    /columns_contradict_entries documents.content/,
  ],
  [
    'document is said to be of another kind',
    "update tallystick.documents set document = 'reason'",
    /document_presence/,
  ],
  [
    'document has no name that there is',
    "update tallystick.documents set document = 'x'",
    /columns_contradict_entries documents.document/,
  ],
] as const) {
  test(`follower and audit find a gated record whose ${what}`, async (t) => {
    const audit = await setUp(t)
    await audit.app.reach('SUBMITTED')
    await undefended(audit, sql)
    assert.match(await foundByFollower(audit), expected)
    assert.match(await foundByVerify(audit), expected)
  })
}

test('an audit finds a row of gated_records without a record', async (t) => {
  const audit = await setUp(t)
  await audit.app.reach('SUBMITTED')
  await undefended(
    audit,
    `${COPYABLE}; insert into tallystick.gated_records select (jsonb_populate_record(g, jsonb_build_object('record_id', gen_random_uuid()))).*
     from tallystick.gated_records g`,
  )
  assert.match(await foundByVerify(audit), /gated_records: 2 rows, but records have 1/)
})

test('an audit finds rows of a ledger without a chain', async (t) => {
  const audit = await setUp(t)
  await audit.app.reach('SUBMITTED')
  for (const table of ['gated_records', 'documents']) {
    await undefended(
      audit,
      `${COPYABLE}; insert into tallystick.${table}
       select (jsonb_populate_record(r, jsonb_build_object('ledger_id', gen_random_uuid()))).* from tallystick.${table} r`,
    )
    assert.match(await foundByVerify(audit), new RegExp(`${table}: rows of a ledger without a chain`))
    await undefended(
      audit,
      `delete from tallystick.${table} where ledger_id not in (select ledger_id from tallystick.ledgers)`,
    )
  }
})

/**
 * Makes a step in which an agent names another agent as its party. An attacker with the API's login and the stolen
 * envelope key can make such a step.
 */
async function stepOfStranger(
  { app }: Attacked,
  id: string,
  step: Pick<GatedEvent, 'kind' | 'to'> & {
    readonly by: 'stranger' | 'performer'
    readonly predicate?: object
  },
): Promise<EntryRow> {
  const record = await app.get(id)
  const agentId = parseId('agt', app.agents[step.by].id)
  const [key] = await app.sql<{ id: Uuid; last_leaf: Buffer }>(
    `select k.key_id as id, e.leaf as last_leaf from tallystick.api_keys k
     join tallystick.entries e on e.subject_id = $2 where k.agent_id = $1 order by e.seq desc limit 1`,
    [agentId, parseId('rec', id)],
  )
  const { ledger } = app.ledger
  const author = {
    ledger: ledger.id,
    ledgerId: parseId('led', ledger.id),
    issuer: ledger.issuer,
    agent: app.agents[step.by].id,
    agentId,
    key: formatId('key', key!.id),
    keyId: key!.id,
    authenticatedAtMs: Date.now(),
  } as unknown as Caller
  const { entry } = signEvent(await app.deps.signers.load(), author, {
    kind: step.kind,
    record: id,
    recordId: parseId('rec', id),
    digest: record.digest,
    version: record.version + 1,
    from: record.state,
    to: step.to,
    previous: Buffer.from(key!.last_leaf).toString('hex'),
    recordedAtMs: Date.now(),
    onBehalfOf: null,
    subjects: [{ name: record.gated.completion.id, sha256: record.gated.completion.digest }],
    document: null,
    predicate: { completion: record.gated.completion.id, ...step.predicate },
    idempotency: null,
  })
  return entry
}

const signal = (decision: string) => ({ decision, code: 'accepted', failingRules: [], validUntil: null })

test('finds a verdict that a stranger signed and attributed to the principal', async (t) => {
  const audit = await setUp(t)
  const { id } = await audit.app.reach('VERIFIED')
  const verdict = { verdict: 'accept', by: 'principal', signal: signal('SETTLE') }
  const entry = await stepOfStranger(audit, id, {
    kind: 'verdict-rendered',
    to: 'ACCEPTED',
    by: 'stranger',
    predicate: verdict,
  })
  const [answer] = await appendAsApi(audit.app, [
    { ...entry, partyId: parseId('agt', audit.app.agents.principal.id) },
  ])
  assert.equal(answer!.outcome, 'appended')
  const expected = new RegExp(`^${answer!.seq} columns_contradict_entries gated_records.principal_id`)
  assert.match(await foundByFollower(audit), expected)
  assert.match(await foundByVerify(audit), expected)
})

test('finds an overturn by the performer that names another agent as actor', async (t) => {
  const audit = await setUp(t)
  const { id, gated } = await audit.app.reach('REJECTED')
  const [verdict] = await audit.app.sql<{ leaf: Buffer }>(
    'select leaf from tallystick.entries where seq = $1',
    [gated.verdict.seq],
  )
  const entry = await stepOfStranger(audit, id, {
    kind: 'verdict-overturned',
    to: 'ACCEPTED',
    by: 'performer',
    predicate: { supersedes: Buffer.from(verdict!.leaf).toString('hex'), signal: signal('RELEASE') },
  })
  const other = parseId('agt', audit.app.agents.stranger.id)
  const [refused] = await appendAsApi(audit.app, [{ ...entry, partyId: other }])
  assert.equal(refused!.outcome, 'refused_party')
  // The database accepts any actor from the API's login. Only the signed statement shows the real actor.
  const [answer] = await appendAsApi(audit.app, [{ ...entry, partyId: other, actorId: other }])
  assert.equal(answer!.outcome, 'appended')
  const expected = new RegExp(`^${answer!.seq} columns_contradict_entries entries.actor_id`)
  assert.match(await foundByFollower(audit), expected)
  assert.match(await foundByVerify(audit), expected)
})
