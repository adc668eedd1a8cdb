import { gunzipSync, gzipSync } from 'node:zlib'
import { sha256Hex } from '../../src/signing/sha256.ts'
import { ARCHIVE_LINES_BYTES_MAX } from '../../src/verify/archive/limits.ts'
import { BodyTooLong } from '../../src/verify/archive/read-body.ts'
import { type ArchiveSeal, CHECKPOINT_OBJECT, sealName } from '../../src/verify/archive/seal.ts'
import { type ArchiveReader, ArchiveStoreError } from '../../src/verify/archive/store.ts'

export type ArchiveFiles = ReadonlyMap<string, Buffer>

export function readerOf(files: ArchiveFiles): ArchiveReader {
  return {
    name: 'an archive in memory',
    async get(name, bytesMax) {
      const bytes = files.get(name) ?? null
      if (bytes !== null && bytes.length > bytesMax)
        throw new ArchiveStoreError(`${name} is too long`, { cause: new BodyTooLong(bytesMax) })
      return bytes
    },
  }
}

/** Alters an archive and recomputes its digests. An attacker without a key can write such an archive. */
export class ArchiveEditor {
  readonly files: ArchiveFiles
  /** Seals, oldest first. */
  readonly seals: readonly ArchiveSeal[]

  constructor(files: ArchiveFiles) {
    this.files = files
    const seals: ArchiveSeal[] = []
    for (
      let at = Number(files.get(CHECKPOINT_OBJECT)!.toString().split('\n')[1]);
      at > 0;
      at = seals[0]!.from
    )
      seals.unshift(JSON.parse(files.get(sealName(at))!.toString()))
    this.seals = seals
  }

  seal(index: number, edit: (seal: ArchiveSeal) => object | string): ArchiveFiles {
    return this.#write(this.files, this.seals, (seal, i) => (i === index ? edit(seal) : seal))
  }

  /** Changes an object, and the seal that names the object. */
  object(name: string, edit: (bytes: Buffer) => Uint8Array): ArchiveFiles {
    const bytes = Buffer.from(edit(this.files.get(name)!))
    const [kind, rest] = name.split('/') as [string, string]
    const renamed = kind === 'tile' ? name : `${kind}/${rest.split('-')[0]}-${sha256Hex(bytes)}`
    const files = new Map(this.files)
    files.delete(name)
    files.set(renamed, bytes)
    const named = { name: renamed, bytes: bytes.length, sha256: sha256Hex(bytes) }
    return this.#write(
      files,
      this.seals.map((seal) => ({
        ...seal,
        pieces: seal.pieces.map((piece) => ({
          ...piece,
          lines: piece.lines === name ? renamed : piece.lines,
          documents: piece.documents === name ? renamed : piece.documents,
        })),
        objects: seal.objects.map((object) => (object.name === name ? named : object)),
      })),
    )
  }

  /** Replaces the first line for which `edit` does not return null. */
  line(edit: (line: Record<string, unknown>) => object | string | null): ArchiveFiles {
    for (const { lines } of this.seals.flatMap(({ pieces }) => pieces)) {
      const texts = gunzipSync(this.files.get(lines)!).toString().split('\n').slice(0, -1)
      for (const [i, text] of texts.entries()) {
        const edited = edit(JSON.parse(text))
        if (edited !== null)
          return this.object(lines, () =>
            gzipSync(
              texts
                .with(i, textOf(edited))
                .map((one) => `${one}\n`)
                .join(''),
            ),
          )
      }
    }
    throw new Error('no line is changed')
  }

  names(start: string): string[] {
    return this.seals
      .flatMap(({ objects }) => objects.map(({ name }) => name))
      .filter((name) => name.startsWith(start))
  }

  #write(
    files: ArchiveFiles,
    seals: readonly ArchiveSeal[],
    edit: (seal: ArchiveSeal, index: number) => object | string = (seal) => seal,
  ): ArchiveFiles {
    const written = new Map(files)
    let previous: string | null = null
    for (const [i, seal] of seals.entries()) {
      const text = Buffer.from(textOf(edit({ ...structuredClone(seal), previous }, i)))
      written.set(sealName(this.seals[i]!.size), text)
      previous = sha256Hex(text)
    }
    return written
  }
}

const textOf = (value: object | string) => (typeof value === 'string' ? value : JSON.stringify(value))
const behind = (more: Uint8Array) => (bytes: Buffer) => Buffer.concat([bytes, more])
const flipped = (at: number) => (bytes: Buffer) => {
  const changed = Buffer.from(bytes)
  changed[at < 0 ? changed.length + at : at]! ^= 1
  return changed
}

/** A gzip file whose content is one byte longer than a piece's lines may be. */
const BOMB = gzipSync(Buffer.alloc(ARCHIVE_LINES_BYTES_MAX + 1), { level: 1 })

type Alteration = readonly [about: string, code: string, (editor: ArchiveEditor) => ArchiveFiles]

/**
 * Alterations of an archive. The archive must have a type, documents, and at least two seals. The older seal must end
 * within a tile.
 */
export const ALTERATIONS: readonly Alteration[] = [
  [
    'a checkpoint of size 0',
    'archive_object',
    ({ files }) => {
      const lines = files.get(CHECKPOINT_OBJECT)!.toString().split('\n')
      return new Map(files).set(CHECKPOINT_OBJECT, Buffer.from(lines.with(1, '0').join('\n')))
    },
  ],
  [
    'a checkpoint that is not UTF-8',
    'archive_object',
    ({ files }) => new Map(files).set(CHECKPOINT_OBJECT, Buffer.from([0xff])),
  ],
  [
    'an older checkpoint that is none',
    'note_syntax',
    (e) => e.seal(0, (s) => ({ ...s, checkpoint: 'rubbish' })),
  ],
  [
    'an older checkpoint of another size',
    'archive_object',
    (e) => e.seal(0, (s) => ({ ...s, checkpoint: e.seals[1]!.checkpoint })),
  ],
  [
    'an older checkpoint of another root',
    'signature_invalid',
    (e) =>
      e.seal(0, (s) => ({
        ...s,
        checkpoint: s.checkpoint.replace(/\n\S+\nchain/, `\n${'A'.repeat(43)}=\nchain`),
      })),
  ],
  [
    'a checkpoint of the newest seal that nobody signed',
    'note_unsigned',
    (e) =>
      e.seal(e.seals.length - 1, (s) => ({
        ...s,
        checkpoint: `${s.checkpoint.split('\n\n')[0]}\n\n— another AAAAAAA=\n`,
      })),
  ],
  ['a further member in a seal', 'archive_object', (e) => e.seal(0, (s) => ({ ...s, further: 1 }))],
  [
    'a further member in the ledger of a seal',
    'archive_object',
    (e) => e.seal(0, (s) => ({ ...s, ledger: { ...s.ledger, further: 1 } })),
  ],
  [
    'a key without a time',
    'archive_object',
    (e) => e.seal(0, (s) => ({ ...s, keys: s.keys.map((key) => ({ ...key, activatedAt: 'then' })) })),
  ],
  [
    'a member twice in a seal',
    'archive_object',
    (e) => e.seal(e.seals.length - 1, (s) => JSON.stringify(s).replace('{', '{"archive":1,')),
  ],
  [
    'an older seal of another ledger',
    'archive_object',
    (e) =>
      e.seal(0, (s) => ({
        ...s,
        ledger: { ...s.ledger, id: s.ledger.id.replace(/.$/, (last) => (last === '0' ? '1' : '0')) },
      })),
  ],
  [
    'a seal that names neither its last piece nor the objects of that piece',
    'archive_object',
    (e) =>
      e.seal(0, (s) => {
        const { lines, documents } = s.pieces.at(-1)!
        const objects = s.objects.filter(({ name }) => name !== lines && name !== documents)
        return { ...s, pieces: s.pieces.slice(0, -1), objects }
      }),
  ],
  [
    'an older seal that is well-formed, but not the one that the newer seal names',
    'archive_object',
    ({ files, seals: [oldest] }) => {
      const renamed = { ...oldest!, ledger: { ...oldest!.ledger, name: 'another name' } }
      return new Map(files).set(sealName(oldest!.size), Buffer.from(JSON.stringify(renamed)))
    },
  ],
  ...[[''], {}, -1, ['', 0], ['', 0, -1], ['', 0, 0, 0]].map(
    (erasure): Alteration => [
      `the erasure ${JSON.stringify(erasure)}`,
      'archive_object',
      (e) => e.seal(0, (s) => ({ ...s, erasures: [erasure] })),
    ],
  ),
  [
    'an erasure that no entry signs',
    'archive_object',
    (e) => e.seal(0, (s) => ({ ...s, erasures: [['nothing', 0, 1]] })),
  ],
  ...['8', -1, 0.5, undefined, 2 ** 40].map(
    (bytes): Alteration => [
      `${bytes} bytes of an object`,
      'archive_object',
      (e) => e.seal(0, (s) => ({ ...s, objects: s.objects.map((object) => ({ ...object, bytes })) })),
    ],
  ),
  [
    'a byte more of an object',
    'archive_object',
    (e) =>
      e.seal(0, (s) => ({
        ...s,
        objects: s.objects.map((object) => ({ ...object, bytes: object.bytes + 1 })),
      })),
  ],
  ...['first', 'last'].map(
    (place): Alteration => [
      `an object twice, the wrong one ${place}`,
      'archive_object',
      (e) =>
        e.seal(0, (s) => {
          const wrong = { ...s.objects[0]!, sha256: '0'.repeat(64) }
          return { ...s, objects: place === 'first' ? [wrong, ...s.objects] : [...s.objects, wrong] }
        }),
    ],
  ),
  [
    'a piece named by another digest',
    'archive_object',
    (e) => e.seal(0, (s) => JSON.stringify(s).replaceAll(s.pieces[0]!.lines, `lines/0-${'0'.repeat(64)}`)),
  ],
  [
    'a definition of another type',
    'archive_object',
    (e) =>
      e.line((line) =>
        line['definition'] === undefined ? null : { ...line, definition: '{"name":"other"}' },
      ),
  ],
  [
    'a definition that is no JSON',
    'archive_object',
    (e) => e.line((line) => (line['definition'] === undefined ? null : { ...line, definition: 'x' })),
  ],
  [
    'no definition',
    'archive_object',
    (e) => e.line((line) => (line['definition'] === undefined ? null : { ...line, definition: undefined })),
  ],
  [
    'a definition where none belongs',
    'archive_object',
    (e) => e.line((line) => (line['definition'] === undefined ? { ...line, definition: '{}' } : null)),
  ],
  ['an envelope in a line', 'archive_object', (e) => e.line((line) => ({ ...line, envelope: 'AAAA' }))],
  ['a further member in a line', 'archive_object', (e) => e.line((line) => ({ ...line, further: 1 }))],
  [
    'a member twice in a line',
    'archive_object',
    (e) => e.line((line) => JSON.stringify(line).replace('{', '{"seq":0,')),
  ],
  [
    'a salt in a line',
    'archive_object',
    (e) =>
      e.line((line) => {
        const [document] = line['documents'] as object[]
        return typeof document === 'object' && document !== null
          ? { ...line, documents: [{ ...document, salt: null }] }
          : null
      }),
  ],
  [
    'two members of gzip',
    'archive_object',
    (e) =>
      e.object(e.names('lines/')[0]!, (bytes) => {
        const text = gunzipSync(bytes)
        return Buffer.concat([gzipSync(text.subarray(0, 9)), gzipSync(text.subarray(9))])
      }),
  ],
  ...[Buffer.from('garbage'), Buffer.alloc(1), Buffer.from('\0garbage'), gzipSync('')].map(
    (more): Alteration => [
      `${more.length} bytes behind gzip`,
      'archive_object',
      (e) => e.object(e.names('lines/')[0]!, behind(more)),
    ],
  ),
  [
    'a gzip that is cut',
    'archive_object',
    (e) => e.object(e.names('lines/')[0]!, (bytes) => bytes.subarray(0, -1)),
  ],
  ['another checksum of gzip', 'archive_object', (e) => e.object(e.names('lines/')[0]!, flipped(-8))],
  ['a bomb', 'archive_object', (e) => e.object(e.names('lines/')[0]!, () => BOMB)],
  [
    'a line without an end',
    'archive_object',
    (e) => e.object(e.names('lines/').at(-1)!, (bytes) => gzipSync(gunzipSync(bytes).subarray(0, -1))),
  ],
  [
    'bytes behind the documents',
    'archive_object',
    (e) => e.object(e.names('documents/')[0]!, behind(Buffer.alloc(3))),
  ],
  [
    'an empty document behind the documents',
    'archive_object',
    (e) => e.object(e.names('documents/')[0]!, behind(Buffer.alloc(4))),
  ],
  [
    'a document shorter than a cipher text',
    'archive_object',
    (e) => e.object(e.names('documents/')[0]!, () => Buffer.from([0, 0, 0, 1, 0])),
  ],
  [
    'a byte behind a bundle',
    'archive_object',
    (e) => e.object(e.names('tile/entries/').at(-1)!, behind(Buffer.alloc(1))),
  ],
  [
    'an entry behind a bundle',
    'archive_object',
    (e) => e.object(e.names('tile/entries/').at(-1)!, behind(Buffer.alloc(2))),
  ],
  [
    'a newer bundle with another entry than the older one',
    'archive_object',
    (e) => e.object(e.names('tile/entries/')[1]!, flipped(40)),
  ],
  ['another hash in a tile', 'archive_object', (e) => e.object(e.names('tile/0/')[0]!, flipped(0))],
  [
    'an object that is missing',
    'archive_object',
    (e) => {
      const files = new Map(e.files)
      files.delete(e.names('tile/0/')[0]!)
      return files
    },
  ],
]
