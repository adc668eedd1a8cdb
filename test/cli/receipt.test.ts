import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { OPERATOR_KEY } from '../helpers/app.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { publishingCliApp } from '../helpers/cli-app.ts'
import { runAlone, runCommand } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { makeChain } from '../helpers/test-chain.ts'
import { receiptFileOf, recordOf, verifierKeyOf } from '../helpers/test-proof.ts'

/**
 * Sets up a ledger of ten entries and a receipt file. The sixth entry is a batch. The receipt is for one of the batch's
 * records, under the checkpoint of size nine.
 */
function setUp(t: TestContext) {
  const chain = makeChain()
  for (let i = 0; i < 7; i++) i === 2 ? chain.notarizeBatch(3) : chain.notarize()
  const line = chain.lines[5]!
  const bytes = receiptFileOf(chain, line, { size: 9, item: 1 })
  const files = temporaryFiles(t)
  const write = (name: string, value: object | string | Uint8Array) =>
    files.write(
      name,
      value instanceof Uint8Array || typeof value === 'string' ? value : JSON.stringify(value),
    )
  const file = write('record.cose', bytes)
  const verify = (...args: string[]) => runAlone(['verify', 'receipt', ...args])
  return { chain, line, bytes, write, file, verify, noteKey: verifierKeyOf(chain) }
}

test('verify receipt prints one line with the proved facts, and exits with 0', async (t) => {
  const { chain, line, write, file, verify, noteKey } = setUp(t)
  const record = recordOf(chain, line, 1)
  const { code, stdout, stderr } = await verify(file, '--note-key', noteKey)
  assert.deepEqual([code, stderr], [0, ''])
  const start =
    `RECEIPT_OK ledger=${chain.ledger} entry=5 kind=batch-notarized subject=${record.id} ` +
    `recorded=${line.recordedAt} size=9 root=`
  assert.ok(stdout.startsWith(start), stdout)
  assert.match(stdout.slice(start.length), /^[0-9a-f]{64} keys=not-given\n$/)
  const keys = write('keys.json', { keys: chain.keys() })
  const more = ['--keys', keys, '--record', write('record.json', record)]
  const given = await verify(file, '--note-key', noteKey, ...more)
  assert.equal(given.stdout, stdout.replace('not-given\n', 'given record=same\n'))
  const json = JSON.parse((await verify(file, '--note-key', noteKey, '--json')).stdout)
  assert.deepEqual([json.seq, json.size, json.subject, json.keys], [5, 9, record.id, 'not given'])
})

test('verify receipt exits with 1 for an invalid receipt, 64 for missing arguments', async (t) => {
  const { chain, line, bytes, write, file, verify, noteKey } = setUp(t)
  const refused = async (code: string, ...args: string[]) => {
    const found = await verify(...args)
    assert.deepEqual([found.code, found.stderr], [1, ''])
    assert.match(found.stdout, new RegExp(`^RECEIPT_FAILED code=${code} reason="[^\\n]+"\\n$`))
  }
  const changed = bytes.slice()
  changed[changed.length - 90]! ^= 1
  await refused('signature_invalid', write('changed.cose', changed), '--note-key', noteKey)
  await refused('cbor_malformed', write('none.cose', 'x'), '--note-key', noteKey)
  await refused('checkpoint_foreign', file, '--note-key', verifierKeyOf(makeChain()))
  const other = write('other.json', recordOf(chain, line, 0))
  await refused('record_contradicts_proof', file, '--note-key', noteKey, '--record', other)
  const strangers = write('keys.json', { keys: makeChain().keys() })
  await refused('key_unknown', file, '--note-key', noteKey, '--keys', strangers)
  assert.equal(
    JSON.parse((await verify(write('x', 'x'), '--note-key', noteKey, '--json')).stdout).code,
    'cbor_malformed',
  )
  for (const args of [
    [file],
    [file, '--note-key', 'x'],
    ['--note-key', noteKey],
    [file, '--note-key', noteKey, '--keys', file],
  ]) {
    const { code, stdout, stderr } = await verify(...args)
    assert.deepEqual([code, stdout], [64, ''], stderr)
  }
  assert.equal((await verify('/nowhere', '--note-key', noteKey)).code, 74)
})

test('a receipt is downloaded by record or entry and verifies; ledgers tiles sets who reads tiles', async (t) => {
  const app = await publishingCliApp(t)
  const publish = await makePublish(t, app)
  const record = await app.notarize()
  await publish()
  const file = join(app.files.directory, 'record.cose')
  assert.deepEqual(await runCommand(['receipt', record.id, '-o', file]), { code: 0, stdout: '', stderr: '' })
  const { noteVerifierKey } = (await app.send('GET', '/v1/ledger')).json()
  const { stdout } = await runCommand(['verify', 'receipt', file, '--note-key', noteVerifierKey])
  assert.match(stdout, new RegExp(`^RECEIPT_OK .* entry=3 .* subject=${record.id} .* size=4 `))
  const bySeq = join(app.files.directory, 'entry.cose')
  await runCommand(['receipt', '3', '--size', '4', '-o', bySeq])
  assert.equal((await runCommand(['verify', 'receipt', bySeq, '--note-key', noteVerifierKey])).stdout, stdout)
  assert.equal((await runCommand(['receipt', record.id])).code, 64)
  assert.equal((await runCommand(['receipt', '3', '--seq', '3', '-o', file])).code, 64)

  const { id } = app.ledger.ledger
  const tiles = (...args: string[]) => runCommand(['ledgers', 'tiles', id, ...args])
  assert.match((await tiles('--public')).stderr, /TALLYSTICK_OPERATOR_KEY/)
  process.env['TALLYSTICK_OPERATOR_KEY'] = OPERATOR_KEY
  t.after(() => delete process.env['TALLYSTICK_OPERATOR_KEY'])
  assert.deepEqual(JSON.parse((await tiles('--public')).stdout), { tiles: 'public' })
  assert.equal((await app.send('GET', `/tlog/${id}/checkpoint`, { key: null })).statusCode, 200)
  assert.deepEqual(JSON.parse((await tiles('--by-key')).stdout), { tiles: 'key' })
  for (const args of [[], ['--public', '--by-key']]) assert.equal((await tiles(...args)).code, 64)
})
