import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { documentPosition } from '../../src/signing/document-keys.ts'
import { parseArchiveKeys } from '../../src/verify/archive/key-file.ts'
import { buildTestApp, expectStatus } from '../helpers/app.ts'
import { openArchiver } from '../helpers/archiver.ts'
import { createTestDatabase, TEST_MASTER_KEY } from '../helpers/database.ts'
import { openEraser } from '../helpers/eraser.ts'
import { erase, PERSONAL, postBatch } from '../helpers/personal-records.ts'
import { runCommand } from '../helpers/run-script.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

test('a key file made after an erasure restores the ledger, before and after the archive has the erasure', async (t) => {
  const app = await buildTestApp(t)
  const archiver = await openArchiver(t, app)
  const eraser = openEraser(t, app)
  const { directory } = temporaryFiles(t)
  const TALLYSTICK_MASTER_KEY = Buffer.from(TEST_MASTER_KEY).toString('hex')
  const makeKeys = (out: string) =>
    runCommand('archive-keys', ['--out', join(directory, out)], {
      env: { DATABASE_URL: app.database.ownerUrl, TALLYSTICK_MASTER_KEY },
    })
  const fileOf = (out: string) => join(directory, out, `${archiver.ledger}.json`)
  const restore = async (out: string) => {
    const target = await createTestDatabase(t)
    return runCommand(
      'restore-archive',
      ['--archive', archiver.archive, '--ledger', archiver.ledger, '--archive-key', fileOf(out)],
      { env: { DATABASE_URL: target.ownerUrl, TALLYSTICK_MASTER_KEY } },
    )
  }
  const { id, entry } = await app.notarize(PERSONAL)
  const { records } = expectStatus(201, await postBatch(app, 3)).json()
  await archiver.run()
  const keyed = async (out: string) => {
    const keys = parseArchiveKeys(await readFile(fileOf(out), 'utf8')).pieces.get(0)!
    return [
      documentPosition(entry.seq, 0),
      ...[0, 1, 2].map((item) => documentPosition(entry.seq + 1, item)),
    ].map((place) => keys.find(place) !== null)
  }
  const first = await makeKeys('keys')
  assert.deepEqual([first.code, first.stderr], [0, ''])

  for (const gone of [id, records[2].id]) expectStatus(202, await erase(app, gone))
  await eraser.run()
  const early = await makeKeys('keys')
  assert.equal(early.code, 3, early.stderr)
  assert.match(
    early.stderr,
    /^led_\S+: 2 erasures are not archived yet: .* Until then the file can open these/,
  )
  assert.deepEqual(await keyed('keys'), [true, true, true, true])
  const restored = await restore('keys')
  assert.equal(restored.code, 0, restored.stderr)

  const alone = await makeKeys('elsewhere')
  assert.equal(alone.code, 3)
  assert.match(alone.stderr, /lacks the keys of 2 of these documents and .*: keep the previous file/)
  assert.deepEqual(await keyed('elsewhere'), [false, true, true, false])
  assert.match((await restore('elsewhere')).stderr, /2 documents cannot be opened/)

  await archiver.run()
  const late = await makeKeys('keys')
  assert.deepEqual([late.code, late.stderr], [0, ''])
  assert.deepEqual(await keyed('keys'), [false, true, true, false])
  assert.equal((await restore('keys')).code, 0)
})
