import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { withOwner } from '../../src/db/connect/client.ts'
import { ProofError } from '../../src/proof/error.ts'
import { restoreLedger } from '../../src/run/restore/restore-ledger.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { archiveLedger } from '../../src/verify/archive/archive-ledger.ts'
import { parseArchiveKeys } from '../../src/verify/archive/key-file.ts'
import { CHECKPOINT_OBJECT } from '../../src/verify/archive/seal.ts'
import { SourceError } from '../../src/verify/source.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { addSigningKey, signedRecord, signingOf } from '../helpers/agent-signer.ts'
import { ALTERATIONS, ArchiveEditor, type ArchiveFiles, readerOf } from '../helpers/altered-archive.ts'
import { expectStatus } from '../helpers/app.ts'
import { openArchiver } from '../helpers/archiver.ts'
import { testDatabase } from '../helpers/connect.ts'
import { createTestDatabase, TEST_MASTER_KEY } from '../helpers/database.ts'
import { buildGatedApp } from '../helpers/gated-app.ts'
import { postBatch } from '../helpers/personal-records.ts'

type Line = Record<string, unknown>

const witnessLine = (id: string, signature: number) =>
  `— witness.example/w ${Buffer.concat([Buffer.from(id, 'hex'), Buffer.alloc(signature, 1)]).toString('base64')}\n`

/** Lines that verifiers ignore in a note, and that the database cannot store unchanged. */
const LINES: readonly (readonly [about: string, lines: (own: string) => string])[] = [
  ['a cosignature twice', () => witnessLine('01020304', 72).repeat(2)],
  ['two of one key that differ', () => witnessLine('01020304', 72) + witnessLine('01020304', 73)],
  ['a cosignature too long for a row', () => witnessLine('01020304', 600)],
  [
    'lines of the ledger by no key of it',
    (own) =>
      Array.from({ length: 40 }, (_, i) =>
        own.replace(/ \S+\n$/, ` ${Buffer.alloc(90, i + 1).toString('base64')}\n`),
      ).join(''),
  ],
]

test('an altered archive is restored if it verifies, and otherwise refused with the verifier’s code', {
  timeout: 180_000,
}, async (t) => {
  const app = await buildGatedApp(t)
  const archiver = await openArchiver(t, app)
  await app.notarize()
  await postBatch(app, 3)
  await archiver.run()
  const by = await addSigningKey(app)
  const signed = signedRecord(by, signingOf(app))
  const own = expectStatus(201, await app.send('POST', '/v1/records', { body: signed })).json()
  await app.notarize()
  await archiver.run()
  const editor = new ArchiveEditor(await readFiles(archiver.directory))
  const keyFile = await archiver.keyFile()
  const target = await createTestDatabase(t)

  /**
   * Restores the ledger from the files. Returns the verdict, and the result of the query `rows` on the restored ledger.
   */
  async function restored(
    files: ArchiveFiles,
    rows = 'select 1',
  ): Promise<{ verdict: string; rows: unknown[] }> {
    return withOwner(testDatabase(target.ownerUrl), async (client) => {
      await client.query('begin')
      try {
        await restoreLedger(client, {
          ...{ ledger: archiver.ledger, reader: readerOf(files), keys: parseArchiveKeys(keyFile) },
          ...{
            masterKey: makeMasterKey(TEST_MASTER_KEY),
            outsideCheckpoints: [],
            kids: [],
            acceptsLoss: false,
            readOnly: true,
          },
        })
        return { verdict: 'ok', rows: (await client.query(rows)).rows }
      } catch (error) {
        return { verdict: codeOf(error as Error), rows: [] }
      } finally {
        await client.query('rollback')
      }
    })
  }

  async function verified(files: ArchiveFiles): Promise<string> {
    const { failure } = await verifyLedger(archiveLedger(readerOf(files), parseArchiveKeys(keyFile)))
    return failure?.code ?? 'ok'
  }

  const { seq } = own.entry
  const signers = `select seq, encode(signer_kid, 'hex') as kid from tallystick.entries where signer_kid is not null`
  assert.deepEqual(await restored(editor.files, signers), { verdict: 'ok', rows: [{ seq, kid: by.kid }] })

  for (const [about, code, alter] of ALTERATIONS) {
    const files = alter(editor)
    assert.deepEqual([await verified(files), (await restored(files)).verdict], [code, code], about)
  }

  const note = editor.files.get(CHECKPOINT_OBJECT)!.toString()
  for (const [about, lines] of LINES) {
    const more = Buffer.from(note + lines(`${note.split('\n').at(-2)}\n`))
    const files = new Map(editor.files).set(CHECKPOINT_OBJECT, more)
    assert.deepEqual([await verified(files), (await restored(files)).verdict], ['ok', 'ok'], about)
  }

  const signer = { alg: 'EdDSA', spki: Buffer.from(by.key.spki).toString('base64') }
  for (const [about, edit] of [
    ['a signer where the server signed', (line: Line) => (line['seq'] === seq ? null : { ...line, signer })],
    [
      'no signer where the agent signed',
      (line: Line) => (line['seq'] === seq ? { ...line, signer: undefined } : null),
    ],
  ] as const) {
    const files = editor.line(edit)
    const { verdict, rows } = await restored(files, signers)
    assert.equal(verdict, await verified(files), about)
    if (verdict === 'ok') assert.deepEqual(rows, [{ seq, kid: by.kid }], about)
  }
})

function codeOf(error: Error): string {
  if (error instanceof ProofError) return error.code
  const [, code] = / code=([a-z_]+) /.exec(error.message) ?? []
  if (code === undefined || error instanceof SourceError) throw error
  return code
}

async function readFiles(directory: string): Promise<ArchiveFiles> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
  return new Map(
    await Promise.all(
      paths.map(async (path) => [path.slice(directory.length + 1), await readFile(path)] as const),
    ),
  )
}
