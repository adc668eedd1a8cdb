import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { canonicalize } from '../../../src/proof/json/jcs.ts'
import { archiveLedger } from '../../../src/verify/archive/archive-ledger.ts'
import { directoryStore } from '../../../src/verify/archive/directory-store.ts'
import { httpReader } from '../../../src/verify/archive/http-reader.ts'
import type { ArchiveKeys } from '../../../src/verify/archive/key-file.ts'
import { openS3Stores } from '../../../src/verify/archive/s3-store.ts'
import type { ArchiveReader } from '../../../src/verify/archive/store.ts'
import { SourceError } from '../../../src/verify/source.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { ALTERATIONS, ArchiveEditor, type ArchiveFiles, readerOf } from '../../helpers/altered-archive.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { archiveOf } from '../../helpers/test-archive.ts'
import { makeChain } from '../../helpers/test-chain.ts'

/**
 * Verifies an archive. Returns 'ok', the code of a failure, or the kind of a SourceError. A SourceError means that the
 * documents cannot be opened, which proves nothing about the ledger. Throws if the verifier crashes.
 */
async function verdictOf(reader: ArchiveReader, keys: ArchiveKeys | null): Promise<string> {
  try {
    const { failure } = await verifyLedger(archiveLedger(reader, keys), { threads: 0 })
    return failure?.code ?? 'ok'
  } catch (error) {
    assert.ok(error instanceof SourceError, `${(error as Error).stack}`)
    return error.kind
  }
}

/** Makes an archive of two seals. It has a type, records with and without references, a batch and an erasure. */
function smallArchive() {
  const chain = makeChain()
  const type = { name: 'order', version: 1 }
  chain.registerType('order/1', createHash('sha256').update(canonicalize(type)).digest('hex'))
  const first = chain.notarize()
  chain.notarizeBatch(2, { references: ['x'] })
  const size = chain.lines.length
  chain.notarize()
  chain.erase(first)
  return archiveOf(chain, [size, chain.lines.length], { 'order/1': type })
}

const { files, keys } = smallArchive()
const editor = new ArchiveEditor(files)

test('a whole archive verifies, with and without the keys of its documents', async () => {
  for (const given of [keys, null]) assert.equal(await verdictOf(readerOf(files), given), 'ok')
})

for (const [about, code, alter] of ALTERATIONS)
  test(`an archive is refused: ${about}`, async () => {
    for (const given of [keys, null]) assert.equal(await verdictOf(readerOf(alter(editor)), given), code)
  })

/** An altered object, an object that is too large, and an object that is missing. */
const READ_EACH_WAY = ['a byte behind a bundle', 'a bomb', 'an object that is missing']

test('an altered archive is refused from a directory, a web server and a bucket', async (t) => {
  const served = { files }
  const readers = { web: await webServer(t, served), bucket: await bucket(t, served) }
  const { directory } = temporaryFiles(t)
  const altered = ALTERATIONS.filter(([about]) => READ_EACH_WAY.includes(about))
  assert.equal(altered.length, READ_EACH_WAY.length)
  for (const [about, code, alter] of altered) {
    served.files = alter(editor)
    const place = join(directory, 'archive')
    for (const [name, bytes] of served.files) {
      mkdirSync(dirname(join(place, name)), { recursive: true })
      writeFileSync(join(place, name), bytes)
    }
    for (const [way, reader] of Object.entries({ ...readers, directory: directoryStore(place) }))
      assert.equal(await verdictOf(reader, keys), code, `${way}: ${about}`)
    rmSync(place, { recursive: true })
  }
})

test('no value in a seal crashes the verifier, and only hints may change', async () => {
  const strange = [null, true, -1, 0.5, 2 ** 53, '', '0', [], {}, [[]]]
  for (const [index, seal] of editor.seals.entries())
    for (const path of pathsOf(seal))
      for (const value of [...strange, undefined]) {
        if (JSON.stringify(value) === JSON.stringify(at(seal, path))) continue
        const verdict = await verdictOf(readerOf(editor.seal(index, (copy) => put(copy, path, value))), keys)
        const isHint = path[0] === 'ledger' || path[0] === 'keys'
        assert.ok(isHint || verdict !== 'ok', `${path.join('.')}: ${JSON.stringify(value)}`)
      }
})

test('a changed, cut or extended object is refused, even if its seal is changed to match', async () => {
  for (const [name, bytes] of files) {
    if (name.startsWith('seals/')) continue
    for (let at = 0; at <= bytes.length; at += Math.max(1, Math.floor(bytes.length / 4)))
      for (const changed of [
        Buffer.concat([bytes.subarray(0, at), Buffer.from('x'), bytes.subarray(at)]),
        bytes.subarray(0, Math.min(at, bytes.length - 1)),
        Buffer.concat([bytes, bytes.subarray(0, at + 1)]),
      ]) {
        assert.notEqual(
          await verdictOf(readerOf(new Map(files).set(name, changed)), keys),
          'ok',
          `${name} at ${at}`,
        )
        if (name === 'checkpoint') continue
        assert.notEqual(
          await verdictOf(readerOf(editor.object(name, () => changed)), keys),
          'ok',
          `${name} at ${at}`,
        )
      }
  }
})

type Path = readonly (string | number)[]

function pathsOf(value: unknown, path: Path = []): Path[] {
  const inner = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return [
    ...(path.length > 0 ? [path] : []),
    ...inner.flatMap(([name, member]) => pathsOf(member, [...path, name])),
  ]
}

const at = (value: object, path: Path): unknown =>
  path.reduce<unknown>((inner, step) => (inner as Record<string, unknown>)[step], value)

/** Sets a member. undefined removes the member. */
function put<T extends object>(value: T, path: Path, member: unknown): T {
  const parent = at(value, path.slice(0, -1)) as Record<string, unknown>
  if (member === undefined && !Array.isArray(parent)) delete parent[path.at(-1)!]
  else parent[path.at(-1)!] = member
  return value
}

async function webServer(t: TestContext, served: { readonly files: ArchiveFiles }): Promise<ArchiveReader> {
  return httpReader(new URL(await serve(t, served, '/')), 'a web server')
}

async function bucket(t: TestContext, served: { readonly files: ArchiveFiles }): Promise<ArchiveReader> {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'archive', AWS_SECRET_ACCESS_KEY: 'archive-secret' })
  const endpoint = await serve(t, served, '/ledgers/led/')
  const place = { bucket: 'ledgers', prefix: '', endpoint, region: 'us-east-1', pathStyle: true, lock: null }
  const stores = await openS3Stores({ kind: 's3', ...place })
  t.after(() => stores.close())
  return stores.of('led')
}

async function serve(
  t: TestContext,
  served: { readonly files: ArchiveFiles },
  path: string,
): Promise<string> {
  const server = createServer((request, answer) => {
    const name = new URL(request.url!, 'http://localhost').pathname.slice(path.length)
    const bytes = served.files.get(name)
    if (bytes) answer.end(bytes)
    else
      answer
        .writeHead(404, { 'content-type': 'application/xml' })
        .end('<Error><Code>NoSuchKey</Code></Error>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
