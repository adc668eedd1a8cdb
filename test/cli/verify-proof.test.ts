import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runAlone } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { makeChain, makeSigner, type TestLine } from '../helpers/test-chain.ts'
import { makeGated } from '../helpers/test-gated.ts'
import { consistencyOf, proofOf, recordOf, verifierKeyOf } from '../helpers/test-proof.ts'

/**
 * Sets up a ledger of ten entries and a proof file. The sixth entry is a batch. The proof is for this batch, under the
 * checkpoint of size nine.
 */
function setUp(t: TestContext) {
  const chain = makeChain()
  for (let i = 0; i < 7; i++) i === 2 ? chain.notarizeBatch(3) : chain.notarize()
  const line = chain.lines[5]!
  const proof = proofOf(chain, line, { size: 9, item: 1 })
  const record = recordOf(chain, line, 1)
  const files = temporaryFiles(t)
  const write = (name: string, value: object | string) =>
    files.write(name, typeof value === 'string' ? value : JSON.stringify(value))
  const args = ['verify', '--proof', write('proof.json', proof)]
  return { chain, line, proof, record, files, write, args }
}

test('prints one line with the proved facts and the source of the keys, and exits with 0', async (t) => {
  const { chain, line, record, args, write } = setUp(t)
  const alone =
    `PROOF_OK ledger=${chain.ledger} entry=5 kind=batch-notarized subject=${record.id} recorded=${line.recordedAt}` +
    ' keys=self-asserted note-key=self-asserted checkpoint=own covered=9 of 9'
  assert.deepEqual(await runAlone(args), { code: 0, stdout: `${alone}\n`, stderr: '' })
  const given = await runAlone([
    ...args,
    ...['--record', write('record.json', record), '--key', chain.firstSigner.kidHex.toUpperCase()],
    ...[
      '--note-key',
      verifierKeyOf(chain),
      '--checkpoint',
      write('kept.note', chain.checkpoint(9)),
      '--strict',
    ],
  ])
  const trusted = alone.replaceAll('self-asserted', 'given').replace('=own', '=given')
  assert.deepEqual(given, { code: 0, stdout: `${trusted} record=same\n`, stderr: '' })
  const json = JSON.parse((await runAlone([...args, '--json'])).stdout)
  assert.deepEqual([json.ok, json.seq, json.subject, json.treeSize], [true, 5, record.id, 9])
})

test('prints the settlement signal of a verdict', async (t) => {
  const { chain, write } = setUp(t)
  const gated = makeGated(chain)
  const steps = [gated.activate(), gated.submit(), gated.verify('fail'), gated.judge('reject')]
  const overturned = gated.overturn(gated.last().leaf)
  const prove = (line: TestLine, ...more: string[]) =>
    runAlone(['verify', '--proof', write(`${line.seq}`, proofOf(chain, line)), ...more])
  const { stdout } = await prove(steps[3]!)
  assert.match(stdout, /^PROOF_OK .* kind=verdict-rendered .* covered=\d+ of \d+ signal=HOLD version=5\n$/)
  assert.match((await prove(steps[0]!)).stdout, /^PROOF_OK .* covered=\d+ of \d+ version=2\n$/)
  const { signal, version } = JSON.parse((await prove(overturned, '--json')).stdout)
  assert.deepEqual([signal.decision, signal.validUntil, version], ['RELEASE', null, 6])
})

test('names the error of a proof or record, and exits with 1', async (t) => {
  const { chain, proof, record, args, write } = setUp(t)
  const fails = async (arguments_: string[], pattern: RegExp) => {
    const { code, stdout, stderr } = await runAlone(arguments_)
    assert.deepEqual([code, stderr], [1, ''], stdout)
    assert.match(stdout, pattern)
    assert.match(stdout, /^PROOF_FAILED code=[a-z0-9_]+ reason=".*"\n$/)
  }
  const proved = (name: string, changed: object | string) => ['verify', '--proof', write(name, changed)]
  await fails(proved('path', { ...proof, path: proof.path.slice(1) }), /code=merkle_path/)
  await fails(proved('member', { ...proof, more: '\u001b[2J' }), /code=proof_syntax/)
  await fails(proved('empty', ''), /code=json_syntax/)
  await fails(proved('endless', ' '.repeat(1_000_000)), /code=proof_syntax/)
  await fails(['verify', '--proof', '/dev/zero'], /code=proof_syntax/)
  const changed = write('payload', { ...record, payload: { i: 2 } })
  await fails([...args, '--record', changed], /code=document_digest/)
  await fails([...args, '--record', '/dev/zero'], /code=record_contradicts_proof/)
  await fails([...args, '--key', '00'.repeat(32)], /code=trusted_key_absent/)
  await fails([...args, '--note-key', verifierKeyOf(makeChain())], /code=trusted_key_absent/)
  const forged = chain.checkpoint(9, { signer: makeSigner() })
  await fails([...args, '--checkpoint', write('forged', forged)], /code=note_unsigned/)
  const { ok, code } = JSON.parse((await runAlone([...proved('json', '{'), '--json'])).stdout)
  assert.deepEqual([ok, code], [false, 'json_syntax'])
})

test('connects a stored checkpoint of another size by a consistency proof, and says how to get one', async (t) => {
  const { chain, args, write } = setUp(t)
  const older = ['--checkpoint', write('older', chain.checkpoint(6))]
  const missing = await runAlone([...args, ...older])
  assert.equal(missing.code, 1)
  assert.match(missing.stdout, /code=consistency_missing .*\/v1\/checkpoints\/consistency\?from=6&to=9/)
  const joined = ['--consistency', write('6-9', consistencyOf(chain, 6, 9))]
  const { code, stdout, stderr } = await runAlone([...args, ...older, ...joined])
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /checkpoint=given covered=6 of 9\n/)
  const wrong = { ...consistencyOf(chain, 6, 9), path: consistencyOf(chain, 6, 10).path }
  assert.match(
    (await runAlone([...args, ...older, '--consistency', write('x', wrong)])).stdout,
    /=merkle_path/,
  )
})

test('a stored checkpoint older than the entry does not cover the entry', async (t) => {
  const { chain, args, write } = setUp(t)
  const kept = ['--checkpoint', write('kept', chain.checkpoint(5))]
  const joined = [...args, ...kept, '--consistency', write('5-9', consistencyOf(chain, 5, 9))]
  const { code, stdout, stderr } = await runAlone(joined)
  assert.equal(code, 0)
  assert.match(stdout, /checkpoint=own covered=9 of 9\n/)
  assert.match(stderr, /^tallystick: the stored checkpoint of 5 entries is older than the entry/)
  const strict = await runAlone([...joined, '--strict', '--key', chain.firstSigner.kidHex])
  assert.equal(strict.code, 1)
  assert.match(strict.stdout, /code=checkpoint_not_given/)
})

test('with --strict refuses a proof without a given key', async (t) => {
  const { chain, args, write } = setUp(t)
  const kept = ['--checkpoint', write('kept', chain.checkpoint(9))]
  const withoutKey = await runAlone([...args, ...kept, '--strict'])
  assert.deepEqual([withoutKey.code, /code=keys_not_given/.test(withoutKey.stdout)], [1, true])
  const broken = await runAlone(['verify', '--strict', '--proof', write('broken', '{')])
  assert.match(broken.stdout, /code=json_syntax/)
})

test('refuses options that would have no effect, and missing files', async (t) => {
  const { args, files } = setUp(t)
  const fails = async (arguments_: string[], code: number, pattern: RegExp) => {
    const run = await runAlone(arguments_)
    assert.deepEqual([run.code, run.stdout], [code, ''], run.stderr)
    assert.match(run.stderr, pattern)
  }
  await fails([...args, 'ledger.ndjson'], 64, /verify checks either a ledger or the FILE of --proof/)
  await fails([...args, '--pin'], 64, /--pin cannot be used with --proof/)
  await fails([...args, '--server', 'http://x'], 64, /--server cannot be used/)
  await fails([...args, '--receipt', 'x'], 64, /--receipt cannot be used/)
  await fails(['verify', 'ledger.ndjson', '--record', 'x'], 64, /--record can only be used with --proof/)
  await fails([...args, '--consistency', 'x'], 64, /add --checkpoint/)
  await fails([...args, '--note-key', 'x'], 64, /noteVerifierKey/)
  await fails([...args, '--key', 'x'], 64, /64 hex digits/)
  await fails(['verify', '--proof', join(files.directory, 'absent')], 74, /cannot be read \(ENOENT\)/)
})
