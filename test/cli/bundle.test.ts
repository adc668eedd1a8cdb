import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { rotateKeys } from '../../src/followers/rotation/rotate-keys.ts'
import { makeRotator, rotateKey } from '../followers/rotation/rotation.ts'
import { addSigningKey, signedBatch, signedRecord, signingOf } from '../helpers/agent-signer.ts'
import { expectStatus } from '../helpers/app.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { buildCliApp, publishingCliApp } from '../helpers/cli-app.ts'
import { openEraser } from '../helpers/eraser.ts'
import { gateLedger } from '../helpers/gated-app.ts'
import { addKey } from '../helpers/more-keys.ts'
import { runAlone, runCommand } from '../helpers/run-command.ts'
import { addStatement } from '../helpers/signed-statements.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { bundleTexts, rangeOf, type TestBundle } from '../helpers/test-bundle.ts'
import { makeChain } from '../helpers/test-chain.ts'
import { consistencyOf, verifierKeyOf } from '../helpers/test-proof.ts'

const generic = (more: object = {}) => ({ type: 'generic/1', payload: { did: 'something' }, ...more })

/** Sets up a server, and a function that saves a bundle and verifies the bundle with only the note key. */
async function setUp(t: TestContext, makeApp: typeof publishingCliApp = publishingCliApp) {
  const app = await makeApp(t)
  const publish = await makePublish(t, app)
  const file = join(app.files.directory, 'x.bundle')
  const { noteVerifierKey } = (await app.send('GET', '/v1/ledger')).json()
  async function bundle(...args: string[]) {
    await publish()
    assert.deepEqual(await runCommand(['bundle', ...args, '-o', file]), { code: 0, stdout: '', stderr: '' })
    const { code, stdout, stderr } = await runAlone(['verify', 'bundle', file, '--note-key', noteVerifierKey])
    assert.equal(code, 0, stdout)
    const [head, ...lines] = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    return { stdout, stderr, head, lines: lines.slice(0, -1) }
  }
  return { app, file, bundle, publish, noteVerifierKey }
}

test('a run is saved with its batches and gated records, across a key rotation, and verifies alone', async (t) => {
  const { app, file, bundle } = await setUp(t)
  const gated = await gateLedger(t, app)
  const root = await app.notarize(generic())
  const task = await gated.reach('ACCEPTED', { parent: root.id })
  await rotateKey(app)
  await rotateKeys(makeRotator(t, app))
  const records = [
    generic({ parent: root.id, references: ['order:1'] }),
    generic({ parent: 0 }),
    generic(),
    generic({ parent: task.id }),
  ]
  const batch = expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } })).json()
  await app.notarize(generic({ parent: batch.records[3].id }))
  await app.notarize(generic())
  const erased = batch.records[0].id
  expectStatus(
    202,
    await app.send('DELETE', `/v1/records/${erased}/payload`, { body: { code: 'gdpr_article_17' } }),
  )
  await openEraser(t, app).run()

  const run = await bundle('--run', root.id)
  const { id } = app.ledger.ledger
  assert.ok(
    run.stdout.startsWith(`BUNDLE_OK ledger=${id} of=run:${root.id} completeness=selection entries=8 `),
    run.stdout,
  )
  assert.match(run.stdout, / keys=self-asserted note-key=given checkpoint=own .* records=6 erased=1\n$/)
  assert.match(run.stderr, /it is a selection/)
  assert.deepEqual([run.head.keys.length, run.head.completeness], [2, 'selection'])
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const shown = run.lines.flatMap(({ items }) => items ?? []).map(({ item }) => item.record)
  assert.deepEqual(
    shown,
    [0, 1, 3].map((i) => batch.records[i].id),
    'the others of the batch are not shown',
  )

  const one = await bundle(task.id, '--no-documents')
  assert.match(
    one.stdout,
    / of=record:\S+ completeness=selection entries=5 .* records=1 documents=withheld\n$/,
  )
  assert.ok(
    one.lines.every(({ documents }) => documents.every((each: { salt: unknown }) => each.salt === null)),
  )
  assert.match((await bundle(erased)).stdout, / entries=1 .* records=1 erased=1\n$/)

  const { seq } = root.entry
  const range = await bundle('--from', String(seq), '--to', String(batch.entry.seq))
  const count = batch.entry.seq - seq + 1
  assert.match(
    range.stdout,
    new RegExp(` of=range:${seq}-${batch.entry.seq} completeness=complete entries=${count} `),
  )
  assert.match(range.stdout, / erased=1\n$/)
  assert.equal(range.stderr, '')
  const [, size] = / covered=(\d+) of/.exec(run.stdout)!
  const first = await bundle('--from', '0', '--to', '0', '--size', size!)
  assert.match(first.stdout, new RegExp(` of=range:0-0 .* covered=${size} of ${size}\n$`))
})

test('entries that an agent signed itself come with its keys, across a rotation of the server’s', async (t) => {
  // Its own application, because a rotation must not follow another one within 90 s.
  const { app, file, bundle } = await setUp(t, buildCliApp)
  const who = signingOf(app)
  const first = await addSigningKey(app)
  const send = async (body: object, url = '/v1/records') =>
    expectStatus(201, await app.send('POST', url, { body })).json()
  const one = await send(signedRecord(first, who))
  const second = await addSigningKey(app, { endorsedBy: first })
  expectStatus(
    200,
    await app.send('POST', `/v1/agents/${who.agent}/signing-keys/${first.kid}/revoke`, { body: {} }),
  )
  await rotateKey(app)
  await rotateKeys(makeRotator(t, app))
  const batch = await send(signedBatch(second, who, [{ payload: {} }, { payload: {} }]), '/v1/records/batch')
  await app.notarize(generic())
  const last = await send(signedRecord(second, who))
  for (const id of [one.id, batch.records[1].id, last.id])
    assert.match((await bundle(id)).stdout, / entries=1 .* agent-signed=1\n$/)
  const { seq } = last.entry
  const range = await bundle('--from', String(seq - 2), '--to', String(seq))
  assert.match(range.stdout, / entries=3 .* agent-signed=2\n$/)
  const kinds = range.lines.map(({ kind }) => kind)
  assert.deepEqual(kinds, [
    'ledger-created',
    'agent-key-registered',
    'agent-key-registered',
    'agent-key-revoked',
    'server-key-rotated',
    'batch-notarized',
    'record-notarized',
    'record-notarized',
  ])
  assert.equal(range.head.keys.length, 2)
  const pinned = (kid: string) => runAlone(['verify', 'bundle', file, '--agent-key', `${who.agent}=${kid}`])
  // Fails because the range has an entry of the agent that the server signed instead of the agent.
  assert.match((await pinned(first.kid)).stdout, /^BUNDLE_FAILED .*code=agent_signature_missing /)
  await bundle(last.id)
  assert.match((await pinned(first.kid)).stdout, /^BUNDLE_OK /)
  assert.match((await pinned('00'.repeat(32))).stdout, /^BUNDLE_FAILED .*code=agent_key_refused /)
  assert.equal((await pinned('00')).code, 64)
})

test('a range contains both entries of a registered statement; a range that splits them is refused', async (t) => {
  const { app, file, bundle } = await setUp(t)
  const { seq } = await addStatement(app)
  const last = (await app.notarize(generic())).entry.seq
  const both = await bundle('--from', String(seq), '--to', String(last))
  assert.match(both.stdout, / entries=3 .* statements=1\n$/)
  // The statement was checked, because the bundle includes the registration policy from before the range.
  assert.doesNotMatch(both.stderr, /was not checked/)
  assert.ok(both.lines.some(({ kind }) => kind === 'registration-policy-set'))
  for (const [from, to, advice] of [
    [seq + 1, last, `start with ${seq}`],
    [seq - 1, seq, `end with ${seq + 1}`],
  ]) {
    const half = await runCommand(['bundle', '--from', String(from), '--to', String(to), '-o', file])
    assert.equal(half.code, 64)
    assert.ok(half.stderr.includes(String(advice)), half.stderr)
  }
})

test('bundle refuses invalid selections and ranges', async (t) => {
  const { app, file, publish } = await setUp(t)
  const record = await app.notarize(generic())
  await publish()
  for (const args of [
    [],
    [record.id, record.id],
    [record.id, '--run', record.id],
    [record.id, '--from', '1', '--to', '2'],
    ['--run', record.id, '--from', '1', '--to', '2'],
    ['--from', '1'],
    ['--from', '2', '--to', '1'],
    ['--from', '-1', '--to', '1'],
    ['--from', '2020-01-01', '--to', '2027-06-31'],
    ['--from', '2027-02-29T12:00:00+14:00', '--to', '2099-01-01'],
    [record.id, '--size', '0'],
  ])
    assert.equal((await runCommand(['bundle', ...args, '-o', file])).code, 64, args.join(' '))
  assert.equal((await runCommand(['bundle', record.id], { isTTY: true })).code, 64)
  const piped = await runCommand(['bundle', record.id])
  assert.match(piped.stdout, /^\{"bundle":1,.*\n\{"entries":2\}\n$/s)
  const unknown = await runCommand(['bundle', 'rec_01jegv5gyme00r000000000001', '-o', file])
  assert.match(unknown.stderr, /not_found|has no record/)
  // A key with only `audit:read` may not read documents.
  const key = await addKey(app, { agent: app.ledger.agent.id, scopes: ['audit:read'] })
  const audit = (...args: string[]) =>
    runCommand(['bundle', '--from', '1', '--to', '3', '-o', file, '--api-key', key, ...args])
  assert.match((await audit()).stderr, /may not read/)
  assert.deepEqual(await audit('--no-documents'), { code: 0, stdout: '', stderr: '' })
})

/** Sets up a ledger of eight entries, a bundle file with two of the entries, and a function that verifies a bundle. */
function setUpFile(t: TestContext) {
  const chain = makeChain()
  for (let i = 0; i < 5; i++) chain.notarize()
  const bundle = rangeOf(chain, { from: 4, to: 5 })
  const files = temporaryFiles(t)
  const write = (changed: TestBundle, name = 'changed.bundle') =>
    files.write(name, `${bundleTexts(changed).join('\n')}\n`)
  const verify = (...args: string[]) => runAlone(['verify', 'bundle', ...args])
  return { chain, bundle, files, write, verify, file: write(bundle, 'x.bundle') }
}

test('verify bundle prints the source of keys, note key and checkpoint, and the coverage', async (t) => {
  const { chain, bundle, files, file, write, verify } = setUpFile(t)
  const start = `BUNDLE_OK ledger=${chain.ledger} of=range:4-5 completeness=complete entries=2`
  const bare = await verify(file)
  assert.deepEqual(bare, {
    code: 0,
    stderr: '',
    stdout: `${start} keys=self-asserted note-key=self-asserted checkpoint=own covered=8 of 8\n`,
  })
  const kept = files.write('kept.note', chain.checkpoint(6))
  const consistency = files.write('c.json', JSON.stringify(consistencyOf(chain, 6, 8)))
  const trust = ['--key', chain.firstSigner.kidHex, '--note-key', verifierKeyOf(chain)]
  const given = await verify(file, ...trust, '--checkpoint', kept, '--consistency', consistency)
  assert.equal(given.stdout, `${start} keys=given note-key=given checkpoint=given covered=6 of 8\n`)
  const strict = (...args: string[]) => verify(file, '--strict', ...args)
  const whole = ['--checkpoint', kept, '--consistency', consistency]
  assert.match((await strict(...whole)).stdout, /^BUNDLE_FAILED code=keys_not_given /)
  assert.match((await strict(...trust)).stdout, /^BUNDLE_FAILED code=checkpoint_not_given /)
  for (const key of [trust.slice(0, 2), trust.slice(2)])
    assert.match((await strict(...key, ...whole)).stdout, /^BUNDLE_OK /)
  const withheld = structuredClone(bundle)
  withheld.head['documents'] = 'withheld'
  for (const { documents } of withheld.lines)
    for (const document of documents as object[]) Object.assign(document, { salt: null, document: null })
  const without = await verify(write(withheld), '--strict', ...trust, ...whole)
  assert.match(without.stdout, /^BUNDLE_FAILED code=documents_withheld /)
  const json = JSON.parse((await verify(file, '--json')).stdout)
  assert.deepEqual([json.completeness, json.of, json.records], ['complete', { from: 4, to: 5 }, null])
  const compromised = `${chain.firstSigner.kidHex}=2026-11-20T12:00:00Z`
  assert.match((await verify(file, '--compromised', compromised)).stdout, /code=key_compromised/)
})

test('verify bundle exits with 1 for a bundle that does not verify, 64 for missing arguments', async (t) => {
  const { bundle, chain, files, file, write, verify } = setUpFile(t)
  const refused = async (pattern: RegExp, ...args: string[]) => {
    const { code, stdout, stderr } = await verify(...args)
    assert.deepEqual([code, stderr], [1, ''], stdout)
    assert.match(stdout, pattern)
  }
  const changed = structuredClone(bundle)
  changed.lines.splice(1, 1)
  await refused(/^BUNDLE_FAILED seq=5 code=seq_not_dense reason="[^\n]+"\n$/, write(changed))
  changed.lines.pop()
  changed.end = { entries: 1 }
  await refused(/^BUNDLE_FAILED code=bundle_incomplete /, write(changed))
  await refused(/^BUNDLE_FAILED code=bundle_syntax /, files.write('export', chain.exportLines().join('\n')))
  await refused(/^BUNDLE_FAILED code=json_syntax /, files.write('empty', ''))
  await refused(/^BUNDLE_FAILED code=bundle_incomplete /, files.write('head', bundleTexts(bundle)[0]!))
  await refused(/code=trusted_key_absent/, file, '--note-key', verifierKeyOf(makeChain()))
  await refused(
    /code=consistency_missing/,
    file,
    '--checkpoint',
    files.write('kept.note', chain.checkpoint(6)),
  )
  for (const args of [
    [],
    [file, file],
    [file, '--note-key', 'x'],
    [file, '--key', 'x'],
    [file, '--consistency', file],
  ])
    assert.equal((await verify(...args)).code, 64, args.join(' '))
  assert.equal((await verify('/nowhere')).code, 74)
})

test('a case file selects by type, agent and trace, prints N of M, and its export is recorded', async (t) => {
  const { app, file, bundle } = await setUp(t)
  const gated = await gateLedger(t, app)
  const first = await app.notarize(generic())
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01` }
  await app.notarize(generic(), { headers })
  const task = await gated.reach('ACCEPTED')
  const records = [
    generic({ onBehalfOf: app.ledger.agent.id }),
    generic({ traceparent: headers.traceparent }),
  ]
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
  const erased = await app.notarize(generic())
  expectStatus(
    202,
    await app.send('DELETE', `/v1/records/${erased.id}/payload`, { body: { code: 'expired' } }),
  )
  await openEraser(t, app).run()
  const today = new Date().toISOString().slice(0, 10)
  const period = ['--from', today, '--to', today]

  const whole = await bundle(...period)
  assert.match(whole.stdout, / completeness=complete /)
  const { from, to } = whole.head.of.range
  assert.deepEqual([from, whole.head.tool], [0, 'tallystick 0.1.0'])
  const [announced] = await app.entries(`?after=${to}`)
  assert.equal(announced.kind, 'export-made')

  const traced = await bundle(...period, '--trace', trace)
  assert.match(traced.stdout, / completeness=selection entries=2 .* selected="2 of \d+" records=2\n/)
  assert.match(traced.stderr, /selection/)
  const ofType = await bundle(...period, '--type', task.type)
  assert.match(ofType.stdout, / entries=5 .* records=1\n/)
  const generics = await bundle('--from', String(first.entry.seq), '--to', String(to), '--type', 'generic/1')
  assert.match(generics.stdout, / entries=4 .* records=5 erased=1\n/)
  const nobody = await bundle(...period, '--agent', gated.agents.stranger.id)
  assert.match(nobody.stdout, / entries=0 .* records=0\n/)

  for (const [what, code, change] of [
    [
      'another filter',
      'entry_unrelated',
      (text: string) => text.replace('"type":"generic/1"', '"type":"other/1"'),
    ],
    [
      'no completeness',
      'bundle_syntax',
      (text: string) => text.replace('"selection","documents"', '"complete","documents"'),
    ],
    ['a line less', 'bundle_incomplete', (text: string) => text.replace(/\n[^\n]*batch-notarized[^\n]*/, '')],
    [
      'another period',
      'entry_unrelated',
      (text: string) => text.replace(`"from":${first.entry.seq},`, `"from":${to},`),
    ],
  ] as const) {
    await bundle('--from', String(first.entry.seq), '--to', String(to), '--type', 'generic/1')
    const text = readFileSync(file, 'utf8')
    assert.notEqual(change(text), text, what)
    writeFileSync(file, change(text))
    const { code: exit, stdout } = await runAlone(['verify', 'bundle', file])
    assert.deepEqual([exit, stdout.match(/code=(\w+)/)?.[1]], [1, code], what)
  }
  for (const [args, message] of [
    [['--from', 'yesterday', '--to', today], /takes a seq, a day/],
    [['--from', '1999-01-01', '--to', '1999-01-02'], /no entry in the period/],
    [['--type', 'generic/1'], /add --from and --to/],
  ] as const) {
    const refused = await runCommand(['bundle', ...args, '-o', file])
    assert.equal(refused.code, 64)
    assert.match(refused.stderr, message)
  }
})
