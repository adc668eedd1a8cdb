import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parseSeal, sealName } from '../../../src/verify/archive/seal.ts'
import { openArchiver } from '../../helpers/archiver.ts'
import { openEraser } from '../../helpers/eraser.ts'
import { buildGatedApp } from '../../helpers/gated-app.ts'
import { documentsOf, makePersonalGated } from '../../helpers/personal-gated.ts'
import { ERASE, erase, postBatch } from '../../helpers/personal-records.ts'
import { runCli } from '../../helpers/run-cli.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'

/*
 * Runs both verifiers over one archive: the command line, and the Python verifier that was written from docs/formats.
 */

const PYTHON = { ...process.env, PYTHONPATH: resolve(import.meta.dirname, '../../../python/src') }
const python = (...args: readonly string[]) => spawnSync('python3', args, { env: PYTHON, encoding: 'utf8' })
const hasPython = python('-c', 'import tallystick.verify.cli').status === 0

test('both verifiers agree on an archive, whole and damaged, in a directory and over HTTP', {
  timeout: 180_000,
}, async (t) => {
  const app = await buildGatedApp(t)
  const archiver = await openArchiver(t, app)
  const eraser = openEraser(t, app)
  const record = await makePersonalGated(app)
  const batch = (await postBatch(app, 70)).json().records as { id: string }[]
  for (let i = 0; i < 260; i++) await app.notarize()
  await archiver.run()
  for (const { address } of documentsOf(record)) await app.send('DELETE', address, { body: ERASE })
  await erase(app, batch[69]!.id)
  await eraser.run()
  await app.notarize()
  await archiver.run()
  const size = (await app.entries()).length
  const files = temporaryFiles(t)
  const keyFile = files.write('keys.json', await archiver.keyFile())

  const ours = async (place: string, ...more: readonly string[]) => {
    const { stdout, stderr, code } = await runCli(['verify', '--archive', place, ...more], process.env)
    return { line: stdout.trim().split('\n').at(-1)!, stderr, code }
  }
  const theirs = (...more: readonly string[]) =>
    python('-m', 'tallystick.verify.cli', '--processes', '1', archiver.directory, ...more).stdout.trim()

  const withheld = await ours(archiver.archive)
  assert.match(withheld.line, new RegExp(`^INTEGRITY_OK entries=${size} .* erased=9 documents=withheld$`))
  const whole = await ours(archiver.archive, '--archive-key', keyFile, '--ledger', archiver.ledger)
  assert.match(whole.line, /^INTEGRITY_OK .* erased=9$/)
  if (hasPython) assert.deepEqual([theirs(), theirs('--archive-key', keyFile)], [withheld.line, whole.line])

  const server = createServer((request, answer) => {
    try {
      answer.end(readFileSync(join(archiver.archive, request.url!)))
    } catch {
      answer.writeHead(404).end()
    }
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await new Promise((listening) => server.once('listening', listening))
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  assert.equal((await ours(url, '--ledger', archiver.ledger, '--archive-key', keyFile)).line, whole.line)
  assert.equal((await ours(`${url}/${archiver.ledger}`)).line, withheld.line)

  const seal = parseSeal(readFileSync(join(archiver.directory, sealName(size))), size)
  const seen = new Set<string>()
  for (const { name } of [...seal.objects, { name: sealName(size) }]) {
    // Only one object of each kind is tested, because each command takes a second to start.
    const kind = name.replace(/[0-9].*/, '')
    if (seen.has(kind)) continue
    seen.add(kind)
    const path = join(archiver.directory, name)
    const bytes = readFileSync(path)
    rmSync(path)
    for (const found of [(await ours(archiver.archive)).line, ...(hasPython ? [theirs()] : [])])
      assert.ok(
        found.startsWith('INTEGRITY_FAILED') &&
          found.includes(`code=archive_object reason="${name} is missing`),
        found,
      )
    writeFileSync(path, bytes)
  }
  assert.equal(seen.size, 5)
})

test('a missing archive and wrong options are reported apart from a damaged archive', async (t) => {
  const files = temporaryFiles(t)
  const run = async (...args: readonly string[]) => runCli(['verify', ...args], process.env)
  assert.match((await run('--archive', files.directory)).stderr, /has no archive of a ledger/)
  assert.match((await run('--archive', 'ftp://somewhere')).stderr, /--archive needs a directory/)
  assert.match(
    (await run('--archive-key', 'x', 'ledger.ndjson')).stderr,
    /--archive-key can only be used with --archive/,
  )
  assert.match(
    (await run('--archive', files.directory, '--ledger', 'led_1')).stderr,
    /is not the id of a ledger/,
  )
  const key = files.write('keys.json', '{"archiveKeys":2}')
  assert.match((await run('--archive', files.directory, '--archive-key', key)).stderr, /is not a key file/)
})
