import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { drawBar } from '../../cli/progress.ts'
import { parseCompromised } from '../../src/verify/parse-kid.ts'
import { runCli } from '../helpers/run-cli.ts'
import { runAlone } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { makeChain, type TestChain } from '../helpers/test-chain.ts'

const textOf = (chain: TestChain) => `${chain.exportLines().join('\n')}\n`

function makeLedger(entries = 3): TestChain {
  const chain = makeChain()
  for (let i = 0; i < entries; i++) chain.notarize()
  return chain
}

test('prints one line and exits with 0 where all is intact', async (t) => {
  const path = temporaryFiles(t).write('ledger.ndjson', textOf(makeLedger()))
  const line = 'INTEGRITY_OK entries=6 records=3 keys=self-asserted checkpoint=own covered=6 own=6 of 6\n'
  assert.deepEqual(await runAlone(['verify', path]), { code: 0, stdout: line, stderr: '' })
  const input = readFileSync(path, 'utf8')
  assert.deepEqual(await runCli(['verify', '-'], { input }), { code: 0, stdout: line, stderr: '' })
})

test('names the first bad entry and exits with 1', async (t) => {
  const text = textOf(makeLedger()).replace('"n":4', '"n":5')
  const path = temporaryFiles(t).write('ledger.ndjson', text)
  const { code, stdout } = await runAlone(['verify', path])
  assert.equal(code, 1)
  assert.match(stdout, /^INTEGRITY_FAILED seq=4 code=document_digest reason="rec_.*"\n$/)
  const json = JSON.parse((await runAlone(['verify', '--json', path])).stdout)
  assert.deepEqual([json.ok, json.failure.seq, json.entries], [false, 4, 4])
})

test('--compromised refuses a date that does not exist', () => {
  const kid = '0a'.repeat(32)
  const parse = (time: string) => parseCompromised([`${kid}=${time}`]).get(kid)
  assert.equal(parse('2028-02-29T12:00Z'), Date.parse('2028-02-29T12:00:00Z'))
  assert.equal(parse('2026-11-30T23:30:00-02:00'), Date.parse('2026-12-01T01:30:00Z'))
  for (const time of ['2026-02-29T12:00:00Z', '2026-11-31T12:00:00Z', '2026-13-01T12:00:00Z'])
    assert.throws(() => parse(time), /--compromised needs a kid/)
})

test('with --strict exits with 1 unless key and checkpoint are given', async (t) => {
  const chain = makeLedger()
  const files = temporaryFiles(t)
  const path = files.write('ledger.ndjson', textOf(chain))
  const kept = files.write('kept.note', chain.checkpoint(4))
  const strict = ['verify', '--strict', path]
  const alone = await runAlone(strict)
  assert.equal(alone.code, 1)
  assert.match(alone.stdout, /^INTEGRITY_FAILED code=keys_not_given/)
  const keyed = [...strict, '--key', chain.firstSigner.kidHex.toUpperCase()]
  assert.match((await runAlone(keyed)).stdout, /code=checkpoint_not_given/)
  const { code, stdout } = await runAlone([...keyed, '--checkpoint', kept])
  assert.equal(code, 0)
  assert.match(stdout, /keys=given checkpoint=given covered=4 own=6 of 6/)
})

test('accepts checkpoints as notes, as lines of JSON, and as an export that ends with one', async (t) => {
  const chain = makeLedger()
  const files = temporaryFiles(t)
  const older = files.write('older.ndjson', textOf(chain))
  const lines = [3, 5].map((size) => `${JSON.stringify({ checkpoint: chain.checkpoint(size) })}\n`).join('')
  const watched = files.write('watched.ndjson', lines)
  chain.notarize()
  const path = files.write('ledger.ndjson', textOf(chain))
  const { stdout } = await runAlone(['verify', path, '--checkpoint', watched, '--checkpoint', older])
  assert.match(stdout, /checkpoint=given covered=6 own=7 of 7/)
  const forked = files.write('forked.note', makeLedger().checkpoint())
  assert.match((await runAlone(['verify', path, '--checkpoint', forked])).stdout, /code=checkpoint_foreign/)
  for (const [name, content] of [
    ['none', 'hello'],
    ['empty', '{"export":1}\nx\n'],
  ] as const) {
    const { code, stderr } = await runAlone(['verify', path, '--checkpoint', files.write(name, content)])
    assert.equal(code, 65)
    assert.match(stderr, /has no checkpoint note/)
  }
  assert.equal((await runAlone(['verify', path, '--checkpoint', '/nowhere/x'])).code, 74)
})

test('remembers the first key of a ledger with --pin, and refuses another one later', async (t) => {
  const chain = makeLedger()
  const files = temporaryFiles(t)
  const env = { XDG_CONFIG_HOME: join(files.directory, 'config') }
  const path = files.write('ledger.ndjson', textOf(chain))
  assert.match((await runAlone(['verify', path, '--pin'], { env })).stdout, /keys=self-asserted/)
  assert.match((await runAlone(['verify', path, '--pin'], { env })).stdout, /keys=pinned/)
  const known = JSON.parse(readFileSync(join(env.XDG_CONFIG_HOME, 'tallystick/known-ledgers.json'), 'utf8'))
  assert.deepEqual(known, { ledgers: { [chain.ledger]: chain.firstSigner.kidHex } })
  const forged = files.write('forged.ndjson', textOf(makeChain({ ledger: chain.ledger })))
  const { code, stdout } = await runAlone(['verify', forged, '--pin'], { env })
  assert.equal(code, 1)
  assert.match(stdout, /code=trusted_key_absent/)
  files.write('config/tallystick/known-ledgers.json', '{')
  const damaged = await runAlone(['verify', path], { env })
  assert.equal(damaged.code, 74)
  assert.match(damaged.stderr, /is damaged/)
})

test('refuses wrong arguments with advice and exit code 64', async () => {
  const fails = async (args: string[], pattern: RegExp, env: Record<string, string> = {}) => {
    // Without TALLYSTICK_DATA, the command would find a key that a local server stored in this folder.
    const { code, stdout, stderr } = await runAlone(args, { env: { TALLYSTICK_DATA: '/nowhere', ...env } })
    assert.deepEqual([code, stdout], [64, ''], `${args}: ${stderr}`)
    assert.match(stderr, pattern)
    assert.doesNotMatch(stderr, /\n {4}at /)
  }
  const key = { TALLYSTICK_API_KEY: 'tly_test' }
  await fails(['prove'], /no command `tallystick prove`/)
  await fails(['constructor'], /no command/)
  await fails(['verify'], /no API key: set TALLYSTICK_API_KEY/)
  await fails(['verify', 'a', 'b'], /verify reads only one source/)
  await fails(['verify', 'a', '--server', 'http://x'], /verify reads only one source/)
  await fails(['verify', 'a', '--ful'], /--ful/)
  await fails(['verify', 'a', '--key', 'abc'], /64 hex digits/)
  await fails(['verify', 'a', '--threads', 'many'], /from 0 to 256/)
  await fails(['verify', 'a', '--threads', '999'], /from 0 to 256/)
  await fails(['verify', 'a', '--ledger', 'led_x'], /--ledger can only be used with --database/)
  await fails(['verify', 'a', '--api-key', 'x'], /--api-key can only be used if a server is verified/)
  await fails(['verify', '--database', 'mysql://x'], /postgres:\/\//)
  await fails(['verify', '--server', 'ledger.example'], /http:\/\/ or https:\/\//, key)
  await fails(['verify', '--server', 'http://x'], /TALLYSTICK_API_KEY/)
  await fails(['verify', '--server', 'http://u:p@x'], /must not have a user name/, key)
  await fails(['verify', '--server', 'http://x'], /API key/, { TALLYSTICK_API_KEY: 'tly_ \u00e9' })
  await fails(['export'], /no API key: set TALLYSTICK_API_KEY/)
  await fails(['export', 'ledger.ndjson'], /usage: tallystick export -o FILE/)
})

test('--help prints the commands, exit codes and the help of each command', async () => {
  const general = await runAlone(['--help'])
  assert.equal(general.code, 0)
  for (const part of ['  verify ', '  export ', 'Exit codes']) assert.ok(general.stdout.includes(part))
  assert.deepEqual(await runAlone([]), { ...general, code: 64 })
  const verify = await runAlone(['verify', '--help'])
  assert.match(verify.stdout, /INTEGRITY_OK entries=/)
  assert.match((await runAlone(['export', '-h'])).stdout, /^tallystick export \[-o FILE\]/)
})

test('exits with 74 for a file that cannot be read, 65 for one that is no export', async (t) => {
  const files = temporaryFiles(t)
  const absent = await runAlone(['verify', join(files.directory, 'absent')])
  assert.equal(absent.code, 74)
  assert.match(absent.stderr, /^tallystick: .*absent: no such file\n$/)
  const other = await runAlone(['verify', files.write('other', 'hello\n')])
  assert.equal(other.code, 65)
})

test('draws a progress bar', () => {
  assert.equal(
    drawBar({ entries: 50, done: 1, total: 2 }, 2),
    '[############------------] 50 %  50 entries  25/s',
  )
  assert.equal(
    drawBar({ entries: 0, done: 0, total: 0 }, 0),
    '[########################] 100 %  0 entries  0/s',
  )
})

test('the first bytes of a file decide how it is verified', async (t) => {
  const files = temporaryFiles(t)
  const verifies = async (bytes: string | Uint8Array, options: string[], expected: [number, RegExp]) => {
    const path = join(files.directory, 'it’s a file')
    writeFileSync(path, bytes)
    const { code, stdout, stderr } = await runAlone(['verify', ...options, path])
    assert.match(stdout + stderr, expected[1])
    assert.equal(code, expected[0])
  }
  const sign1 = new Uint8Array([0xd2, 0x84])
  const issuerKey = files.write('issuer.pem', 'no key')
  await verifies('{"bundle":1}\n', [], [1, /^BUNDLE_FAILED /])
  await verifies('{"bundle":1}\n', ['--threads', '2'], [64, /Unknown option '--threads'/])
  await verifies('{"ledger":{}}', [], [1, /^PROOF_FAILED /])
  await verifies(sign1, [], [64, /--note-key is needed/])
  await verifies(sign1, ['--issuer-key', issuerKey], [64, /--note-key is needed/])
  await verifies('hello\n', [], [65, /is not an export: .*\. The file is no bundle, proof or receipt either/])
})
