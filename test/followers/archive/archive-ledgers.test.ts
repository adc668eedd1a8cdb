import assert from 'node:assert/strict'
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { findSealSize } from '../../../src/db/chain/archives.ts'
import { readFindKey } from '../../../src/db/chain/signed-entries.ts'
import { listPendingErasures } from '../../../src/db/records/pending-erasures.ts'
import { archiveLedgers } from '../../../src/followers/archive/archive-ledgers.ts'
import { eraseAll } from '../../../src/followers/erasure/carry-out.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { documentPosition } from '../../../src/signing/document-keys.ts'
import { directoryStore } from '../../../src/verify/archive/directory-store.ts'
import { parseSeal, sealName } from '../../../src/verify/archive/seal.ts'
import { openArchiver } from '../../helpers/archiver.ts'
import { openEraser } from '../../helpers/eraser.ts'
import { lendGatedApp } from '../../helpers/gated-app.ts'
import { lendApp } from '../../helpers/lent-app.ts'
import { documentsOf, makePersonalGated } from '../../helpers/personal-gated.ts'
import { ERASE, erase, PERSONAL, postBatch, SECRET } from '../../helpers/personal-records.ts'

async function allBytes(directory: string): Promise<Buffer> {
  const names = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = names.filter((name) => name.isFile()).map((name) => join(name.parentPath, name.name))
  return Buffer.concat(await Promise.all(files.map((file) => readFile(file))))
}

test('an archive verifies offline: with documents withheld without keys, completely with keys', async (t) => {
  const app = await lendGatedApp(t)
  const archiver = await openArchiver(t, app)
  await makePersonalGated(app)
  await postBatch(app, 70)
  await archiver.run()
  await app.send('POST', '/v1/records', { body: PERSONAL })
  await archiver.run()
  const entries = (await app.entries()).length

  const withheld = await archiver.verify()
  assert.equal(withheld.failure, null)
  assert.deepEqual([withheld.entries, withheld.own, withheld.documents], [entries, entries, 'withheld'])
  const note = (await app.send('GET', '/v1/checkpoints/latest')).body
  const whole = await archiver.verify(await archiver.keys(), undefined, { checkpoints: [note] })
  assert.equal(whole.failure, null)
  assert.deepEqual([whole.entries, whole.documents, whole.checkpoint], [entries, 'all', 'given'])
  assert.equal((await allBytes(archiver.archive)).includes(SECRET), false)
  assert.equal(archiver.logged.filter(({ level }) => level === 'error').length, 0)
})

test('an erased document is unreadable in the archive, and documents next to it are readable', async (t) => {
  const app = await lendGatedApp(t)
  const archiver = await openArchiver(t, app)
  const eraser = openEraser(t, app)
  const record = await makePersonalGated(app)
  const batch = (await postBatch(app, 3)).json().records as { id: string }[]
  await archiver.run()
  const before = await archiver.keys()
  for (const { address } of documentsOf(record)) await app.send('DELETE', address, { body: ERASE })
  await erase(app, batch[1]!.id)
  await eraser.run()

  const early = await archiver.verify(await archiver.keys()).catch((error: Error) => error)
  assert.match(String(early), /no archived entry erases them/)
  await archiver.run()
  const after = await archiver.keys()
  const report = await archiver.verify(after)
  assert.equal(report.failure, null)
  assert.equal(report.erasures.length, documentsOf(record).length + 1)
  const seq = (await app.entries()).find(({ kind }) => kind === 'batch-notarized').seq
  const found = (keys: typeof before) =>
    [0, 1, 2].map((item) => keys.pieces.get(0)!.find(documentPosition(seq, item)) !== null)
  assert.deepEqual(
    [found(before), found(after)],
    [
      [true, true, true],
      [true, false, true],
    ],
  )
  // The key file `before` was made before the erasure, so it has the key of the erased document. A correct reader
  // ignores this key.
  assert.equal((await archiver.verify(before)).failure, null)
})

test('no document is erased while its key cannot be, as in a ledger that is being moved', async (t) => {
  const app = await lendApp(t)
  const archiver = await openArchiver(t, app)
  const eraser = openEraser(t, app)
  const batch = (await postBatch(app, 3)).json().records as { id: string }[]
  await archiver.run()
  await erase(app, batch[1]!.id)
  const close = (closed: string) => app.sql(`update tallystick.chain_heads set closed = ${closed}`)
  const pending = await listPendingErasures(archiver.pool, null, 10)
  await close("'moving'")
  const signedBy = await readFindKey(archiver.pool)
  await assert.rejects(
    eraseAll(archiver.deps, pending, signedBy),
    /keys of the archive from 0 on were not replaced/,
  )
  await close('null')
  const seq = (await app.entries()).find(({ kind }) => kind === 'batch-notarized').seq
  const findKey = async () => (await archiver.keys()).pieces.get(0)!.find(documentPosition(seq, 1))
  assert.notEqual(await findKey(), null)
  await eraser.run()
  assert.equal(await findKey(), null)
})

test('a seal ends at the last checkpoint within its limits, or else at the next one', async (t) => {
  const app = await lendApp(t)
  const archiver = await openArchiver(t, app)
  const sizes: number[] = []
  const grow = async (write: () => Promise<unknown>) => {
    await write()
    await archiver.publish()
    sizes.push((await app.entries()).length)
  }
  await grow(() => app.notarize())
  await grow(() => postBatch(app, 20))
  await grow(() => postBatch(app, 20))
  await grow(() => app.notarize())
  const [begin, , second, last] = sizes as [number, number, number, number]
  const to = (entries: number, records: number, from = begin) =>
    findSealSize(archiver.pool, parseId('led', archiver.ledger), from, { entries, records })
  assert.deepEqual(
    [await to(100, 100), await to(100, 40), await to(100, 39), await to(2, 100), await to(100, 5)],
    [last, second, second - 1, second, second - 1],
  )
  assert.equal(await to(100, 100, last), null)
})

test('after a worker was killed before saving its position, the next finds the objects already written', async (t) => {
  const app = await lendApp(t)
  const archiver = await openArchiver(t, app)
  await app.notarize()
  await archiver.publish()
  const { query } = archiver.pool
  archiver.pool.query = ((text: string, ...rest: []) => {
    if (typeof text === 'string' && text.includes('set size =')) throw new Error('killed')
    return (query as (...a: unknown[]) => unknown).call(archiver.pool, text, ...rest)
  }) as typeof query
  await archiveLedgers(archiver.deps)
  archiver.pool.query = query
  assert.match(String(archiver.logged.at(-1)?.err), /killed/)
  const names = await readdir(archiver.directory, { recursive: true })
  archiver.deps.unarchived.resume(archiver.ledger)
  await app.notarize()
  await archiver.run()
  assert.equal((await archiver.verify()).failure, null)
  for (const name of names) assert.ok((await readdir(archiver.directory, { recursive: true })).includes(name))
  const [position] = await app.sql('select size from tallystick.archives')
  assert.equal(Number(position!['size']), (await app.entries()).length)
})

test('each missing or changed object is named with archive_object', async (t) => {
  const app = await lendApp(t)
  const archiver = await openArchiver(t, app)
  await app.notarize()
  await archiver.run()
  await app.notarize()
  await archiver.run()
  const size = (await app.entries()).length
  const seal = parseSeal(await readFile(join(archiver.directory, sealName(size))), size)
  for (const { name } of seal.objects) {
    const path = join(archiver.directory, name)
    const bytes = await readFile(path)
    await rm(path)
    const missing = await archiver.verify()
    assert.equal(missing.failure?.code, 'archive_object', name)
    assert.match(missing.failure!.reason, /is missing/)
    assert.ok(missing.failure!.reason.startsWith(name), missing.failure!.reason)
    await writeFile(path, Buffer.concat([bytes, Buffer.of(0)]))
    const changed = await archiver.verify()
    assert.ok(changed.failure!.reason.startsWith(name), changed.failure!.reason)
    await writeFile(path, bytes)
  }
  const [one, two] = seal.objects.filter(({ name }) => name.startsWith('tile/'))
  for (const object of [one!, two!]) await rm(join(archiver.directory, object.name))
  const both = await archiver.verify()
  assert.equal(
    [both.failure!.reason, ...both.notices].filter((text) => text.includes('is missing')).length,
    2,
  )
})

test('an archive that is shorter than the archived size is not continued', async (t) => {
  const app = await lendApp(t)
  const archiver = await openArchiver(t, app)
  await app.notarize()
  await archiver.run()
  await rm(join(archiver.directory, 'checkpoint'))
  await app.notarize()
  await archiver.run()
  assert.match(String(archiver.logged.at(-1)?.err), /covers 0 entries, but 4 were archived/)
})

test('a stalled worker that resumes behind another one replaces none of its objects', async (t) => {
  const app = await lendApp(t)
  const waking = Promise.withResolvers<void>()
  const stalled = Promise.withResolvers<void>()
  let shared: ReturnType<typeof directoryStore> | null = null
  const slow = await openArchiver(t, app, {
    of: () => ({
      ...shared!,
      async put(name, bytes) {
        const outcome = await shared!.put(name, bytes)
        if (!name.startsWith('seals/')) return outcome
        stalled.resolve()
        await waking.promise
        return outcome
      },
    }),
    close() {},
  })
  const other = await openArchiver(t, app)
  shared = directoryStore(other.directory)
  await app.notarize()
  await slow.publish()
  const late = archiveLedgers(slow.deps).catch((error: Error) => error)
  await stalled.promise
  await app.sql("update tallystick.archives set claimed_until = now() - interval '1 second'")
  await app.notarize()
  await other.run()
  waking.resolve()
  assert.match(String(await late), /another worker continues/)

  await app.notarize()
  await other.run()
  assert.deepEqual(
    other.logged.filter(({ level }) => level === 'error'),
    [],
  )
  const report = await other.verify()
  assert.deepEqual([report.failure, report.entries], [null, (await app.entries()).length])
})

test('a ledger that is being moved is not archived', async (t) => {
  const app = await lendApp(t)
  const archiver = await openArchiver(t, app)
  await app.notarize()
  await archiver.publish()
  for (const closed of ['moving', 'moved']) {
    await app.sql(`update tallystick.chain_heads set closed = '${closed}'`)
    await archiveLedgers(archiver.deps)
  }
  assert.deepEqual(archiver.logged, [])
})

test('a symbolic link in place of an object is refused', async (t) => {
  const app = await lendApp(t)
  const archiver = await openArchiver(t, app)
  await app.notarize()
  await archiver.run()
  const path = join(archiver.directory, 'checkpoint')
  await writeFile(join(archiver.archive, 'elsewhere'), await readFile(path))
  await rm(path)
  await symlink(join(archiver.archive, 'elsewhere'), path)
  await assert.rejects(directoryStore(archiver.directory).get('checkpoint', 65_536), /it is a symbolic link/)
})
