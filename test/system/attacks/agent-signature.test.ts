import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Author, sealEntry } from '../../../src/append/entry.ts'
import type { EntryRow } from '../../../src/db/chain/append-entries.ts'
import { digestOf } from '../../../src/ledgers/administration.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { appendAsApi, signRecord } from '../../followers/audit/attacker.ts'
import { followAll, openFaults, setUpAudit, undefended } from '../../followers/audit/set-up.ts'
import {
  addSigningKey,
  keyRegistration,
  makeAgentKey,
  signedRecord,
  signingOf,
  type TestAgentKey,
} from '../../helpers/agent-signer.ts'
import { expectStatus, type TestApp } from '../../helpers/app.ts'
import { runAlone } from '../../helpers/run-command.ts'
import { verdictOf } from '../../helpers/tamper.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { makeChain, makeSigner, type TestChain } from '../../helpers/test-chain.ts'

/*
 * A thief has everything that the server has: its envelope key, the master key, the logins, and the database as its
 * owner. The thief does not have the key of an agent that signs for itself.
 */

test('a thief of all server keys cannot sign for an agent that requires its own key', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  const key = await addSigningKey(app, { required: true })
  expectStatus(201, await app.send('POST', '/v1/records', { body: signedRecord(key, signingOf(app)) }))
  const outcomes = async (...entries: EntryRow[]) =>
    (await appendAsApi(app, entries)).map(({ outcome }) => outcome)

  // The thief calls append_entries with the master key. The database refuses the entry.
  assert.deepEqual(await outcomes(await signRecord(app)), ['refused_signature'])
  const other = makeAgentKey()
  await assert.rejects(outcomes(await registration(app, other)), {
    constraint: 'agent_signing_keys_endorsed',
  })
  const claimed = { ...(await signRecord(app)), kid: Buffer.from(other.kid, 'hex') }
  assert.deepEqual(await outcomes(claimed), ['stale'])
  await followAll(audit)
  assert.deepEqual(await openFaults(audit), [])
  assert.equal(await verdict(app), 'OK')

  // As the database's owner, the thief deletes the rows that tell the database which agents sign for themselves. The
  // database then accepts the unsigned entry. The worker stops, and verification fails.
  const [row] = await app.sql<{ row: string }>(
    'select to_jsonb(k)::text as row from tallystick.agent_signing_keys k',
  )
  await undefended(audit, 'delete from tallystick.agent_signing_keys')
  assert.deepEqual(await outcomes(await signRecord(app)), ['appended'])
  await followAll(audit)
  assert.match((await openFaults(audit))[0]!.reason, /agent_signing_keys/)
  await undefended(
    audit,
    `insert into tallystick.agent_signing_keys select * from jsonb_populate_record(null::tallystick.agent_signing_keys, '${row!.row}')`,
  )
  assert.match(await verdict(app), /^seq=\d+ agent_signature_missing/)
  await undefended(
    audit,
    'update tallystick.ledger_faults set cleared_at = now(), cleared_note = $$put back$$',
  )
  await followAll(audit)
  assert.match((await openFaults(audit))[0]!.code, /agent_signature_missing/)
})

test('a signing key that the thief registers fails verification with agent_key_refused', async (t) => {
  const audit = await setUpAudit(t)
  const { app } = audit
  await addSigningKey(app, { required: true })
  await followAll(audit)
  const other = makeAgentKey()
  await undefended(
    audit,
    `create table tallystick.aside as select * from tallystick.agent_signing_keys;
    delete from tallystick.agent_signing_keys`,
  )
  const answers = await appendAsApi(app, [await registration(app, other)])
  assert.equal(answers[0]!.outcome, 'appended')
  await undefended(
    audit,
    `insert into tallystick.agent_signing_keys select * from tallystick.aside; drop table tallystick.aside`,
  )
  // The server trusts the thief's key, because the database now has a row for it. So an entry that the thief signs with
  // this key is accepted. The registration of the key is an earlier entry, which proves the theft.
  expectStatus(201, await app.send('POST', '/v1/records', { body: signedRecord(other, signingOf(app)) }))
  assert.match(await verdict(app), /^seq=\d+ agent_key_refused: no current key of/)
  await followAll(audit)
  assert.match((await openFaults(audit))[0]!.code, /agent_key_refused/)
})

const FORGED: readonly (readonly [what: string, code: string, forge: (chain: TestChain) => unknown])[] = [
  ['signed by the server', 'agent_signature_missing', (chain) => chain.notarize()],
  [
    'signed by a key of its own',
    'agent_signature_missing',
    (chain) => chain.notarize({}, undefined, undefined, makeSigner()),
  ],
  ['that gives the agent a key', 'agent_key_refused', (chain) => chain.registerSigningKey(makeSigner())],
]

for (const [what, code, forge] of FORGED) {
  test(`tallystick verify refuses a thief’s entry ${what}`, async (t) => {
    const chain = makeChain()
    const key = makeSigner()
    chain.registerSigningKey(key, { required: true })
    chain.notarize({}, undefined, undefined, key)
    const good = await verifyExport(t, chain)
    assert.match(good.stdout, /^INTEGRITY_OK .*agent-signed=1/)
    forge(chain)
    const { stdout } = await verifyExport(t, chain)
    assert.match(stdout, new RegExp(`^INTEGRITY_FAILED seq=${chain.lines.length - 1} code=${code} `))
  })
}

function verifyExport(t: TestContext, chain: TestChain) {
  const path = temporaryFiles(t).write('export.ndjson', `${chain.exportLines().join('\n')}\n`)
  return runAlone(['verify', path])
}

function verdict(app: TestApp): Promise<string> {
  return verdictOf(app.database.superuserUrl, app.ledger.ledger.id)
}

/** Returns a registration without an endorsement, signed by the server's key. */
async function registration(app: TestApp, key: TestAgentKey): Promise<EntryRow> {
  const { ledger, agent, key: apiKey } = app.ledger
  const { kid, alg, spki, proof, required } = { kid: key.kid, ...keyRegistration(signingOf(app), key) }
  const author = {
    ledgerId: app.ledgerId,
    ledger: ledger.id,
    issuer: ledger.issuer,
    agent: agent.id,
    agentId: parseId('agt', agent.id),
    key: apiKey.id,
    keyId: parseId('key', apiKey.id),
    authenticatedAtMs: Date.now(),
  } as unknown as Author
  const about = {
    kind: 'agent-key-registered',
    subject: {
      id: parseId('agt', agent.id),
      name: agent.id,
      digest: digestOf({ agent: agent.id, name: agent.name }),
    },
    predicate: { agent: agent.id, newKey: { kid, alg, spki }, required, proof },
    detail: { kid, alg, spki, required, endorsedBy: null },
  } as const
  return sealEntry(await app.deps.signers.load(), author, about, Date.now()).entry
}
