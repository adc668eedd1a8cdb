import { createCipheriv, createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { fromBase64 } from '../../../../src/proof/bytes.ts'
import { canonicalize } from '../../../../src/proof/json/jcs.ts'
import { merkleRoot, TILE_HASHES } from '../../../../src/proof/tree/merkle.ts'
import type { TileAddress } from '../../../../src/proof/tree/tile-address.ts'
import { DocumentKeys, documentPosition } from '../../../../src/signing/document-keys.ts'
import { formatArchiveKeys } from '../../../../src/verify/archive/key-file.ts'
import { tileName, tilesBetween } from '../../../../src/verify/archive/seal.ts'
import { hostileGzip, mutateBytes } from '../../../helpers/mutate/bytes.ts'
import {
  changeTree,
  copyTree,
  poolOf,
  setAt,
  type Tree,
  textOf,
  treeOf,
  valueAt,
} from '../../../helpers/mutate/json.ts'
import { below, pick, type Random } from '../../../helpers/mutate/random.ts'
import { changeText, encodeAny, pickPoint } from '../../../helpers/mutate/text.ts'
import { sha256, type TestLine } from '../../../helpers/test-chain.ts'
import { type Base, DEED, ORDER } from './ledgers.ts'
import type { Rendered } from './model.ts'
import { hostileNote, verifierKey } from './notes.ts'

/*
 * Makes archives of two seals (docs/formats/archive.md), each with one changed object. The digests in the seals are
 * adjusted to the change. An attacker can do this without a key, because nothing in a seal is signed.
 */

const hexOf = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex')

export type Archive = { readonly objects: Map<string, Uint8Array>; readonly keys: string; how: string }

type Part = {
  readonly from: number
  readonly end: number
  lines: Tree[]
  /** Sealed documents, concatenated. */
  documents: Uint8Array
  tiles: Map<string, Uint8Array>
}

const SECRET = new Uint8Array(32).fill(9)

/** Makes an archive. If `isHostile` is true, one object is changed. */
export function archiveOf(
  base: Base,
  { lines, leaves, chains }: Rendered,
  random: Random,
  isHostile: boolean,
): Archive {
  const parsed = lines.map((tree) => JSON.parse(textOf(tree)) as TestLine)
  const size = lines.length
  const cut = 1 + below(random, size - 1)
  const checkpointOf = (at: number) => ({
    origin: base.chain.origin,
    size: at,
    root: merkleRoot(sha256, leaves.slice(0, at)),
    chain: chains[at]!,
  })
  const noteOf = (at: number) =>
    base.chain.checkpoint(at, { root: checkpointOf(at).root, chain: checkpointOf(at).chain })
  const erasures = parsed.flatMap(({ documents, seq }) =>
    documents
      .filter(({ erasedBy }) => erasedBy !== null)
      .map(({ subject, erasedBy }) => [subject, seq, erasedBy] as const),
  )
  const change = isHostile ? pick(random, CHANGES) : null
  const hows: string[] = []
  const at = below(random, 2)
  const objects = new Map<string, Uint8Array>()
  const parts = [
    [0, cut],
    [cut, size],
  ].map(([from, end], i) =>
    partOf(
      parsed,
      leaves,
      from!,
      end!,
      i === at && change?.plain ? (plain) => change.plain!(plain, random) : undefined,
    ),
  )
  if (change?.part) hows.push(change.part(parts[at]!, random))
  let previous: string | null = null
  for (const [i, part] of parts.entries()) {
    const isTarget = i === at
    const { from, end, tiles } = part
    const text = encodeAny(part.lines.map((line) => `${textOf(line)}\n`).join(''))
    const content = isTarget && change?.lines ? change.lines(text, random) : text
    const zipped = isTarget && change?.zip ? change.zip(content, random) : gzipSync(content)
    const named = new Map([...tiles, [`lines/${from}-${hexOf(zipped)}`, zipped]])
    const documents = part.documents.length > 0 ? `documents/${from}-${hexOf(part.documents)}` : null
    if (documents !== null) named.set(documents, part.documents)
    const note =
      isTarget && change?.note ? change.note(noteOf(end), checkpointOf(end), base, random) : noteOf(end)
    const seal = treeOf({
      archive: 1,
      ledger: ledgerOf(base),
      keys: base.chain.keys(),
      from,
      size: end,
      previous,
      checkpoint: note,
      erasures: erasures.filter(([, , seq]) => seq! >= from && seq! < end),
      pieces: [{ from, end, lines: `lines/${from}-${hexOf(zipped)}`, documents }],
      objects: [...named].map(([name, data]) => ({ name, bytes: data.length, sha256: hexOf(data) })),
    })
    if (isTarget && change?.seal) hows.push(change.seal(seal, random))
    const bytes = encodeAny(textOf(seal))
    for (const [name, data] of named) objects.set(name, data)
    objects.set(`seals/${end}`, isTarget && change?.bytes ? change.bytes(bytes, random) : bytes)
    previous = hexOf(objects.get(`seals/${end}`)!)
    if (i === 1) objects.set('checkpoint', encodeAny(note))
  }
  if (change?.objects) hows.push(change.objects(objects, random, base))
  const keys = formatArchiveKeys(
    base.chain.ledger,
    parts.map(({ from }) => ({ from, packed: Buffer.from(DocumentKeys.of(SECRET).pack()) })),
  )
  return { objects, keys, how: [change?.how ?? 'honest', ...hows].join(': ') }
}

function ledgerOf({ chain }: Base) {
  const { ledger: id, issuer, origin, noteSigner } = chain
  return { id, name: 'test', issuer, origin, noteVerifierKey: verifierKey(origin, noteSigner as never) }
}

function partOf(
  parsed: readonly TestLine[],
  leaves: readonly Uint8Array[],
  from: number,
  end: number,
  changePlain?: (plain: Tree) => string,
): Part {
  const keys = DocumentKeys.of(SECRET)
  const documents: Uint8Array[] = []
  const lines = parsed.slice(from, end).map((whole) => {
    const { envelope: _, ...line } = whole
    for (const [item, { salt, document, references }] of line.documents.entries()) {
      const plain = treeOf({ salt, document, ...(references && { references }) })
      changePlain?.(plain)
      const text = textOf(plain)
      const key = keys.find(documentPosition(line.seq - from, item))!
      documents.push(document === null ? Buffer.alloc(4) : sealed(text, key))
    }
    const shown = line.documents.map(({ subject, digest, erasedBy }) =>
      line.items === null ? { subject, digest, erasedBy } : erasedBy,
    )
    const definition = line.kind === 'type-registered' ? { definition: definitionOf(whole) } : {}
    return treeOf({ ...line, documents: shown, ...definition })
  })
  const tiles = new Map(
    [...tilesBetween(from, end)].map((address) => [tileName(address), tileOf(parsed, leaves, address)]),
  )
  return {
    from,
    end,
    lines,
    documents: documents.some(({ length }) => length > 4) ? Buffer.concat(documents) : Buffer.alloc(0),
    tiles,
  }
}

const definitionOf = ({ envelope }: TestLine): string =>
  canonicalize(Buffer.from(envelope, 'base64').includes('deed/1') ? DEED : ORDER)

function tileOf(
  parsed: readonly TestLine[],
  leaves: readonly Uint8Array[],
  { level, tile, width }: TileAddress,
): Uint8Array {
  const first = tile * TILE_HASHES
  if (level !== 'entries') return Buffer.concat(leaves.slice(first, first + width))
  const envelopes = parsed.slice(first, first + width).map(({ envelope }) => fromBase64(envelope))
  return Buffer.concat(envelopes.flatMap((one) => [Buffer.of(one.length >> 8, one.length & 255), one]))
}

/** Seals a text as sealDocument does, but with a constant nonce. */
function sealed(text: string, key: Uint8Array): Uint8Array {
  const nonce = Buffer.alloc(12, hexOf(Buffer.from(text)), 'hex')
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const body = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  return Buffer.concat([length, body])
}

type Change = {
  readonly how: string
  plain?(plain: Tree, random: Random): string
  part?(part: Part, random: Random): string
  lines?(text: Uint8Array, random: Random): Uint8Array
  zip?(text: Uint8Array, random: Random): Uint8Array
  note?(note: string, checkpoint: Parameters<typeof hostileNote>[0], base: Base, random: Random): string
  seal?(seal: Tree, random: Random): string
  bytes?(bytes: Uint8Array, random: Random): Uint8Array
  objects?(objects: Map<string, Uint8Array>, random: Random, base: Base): string
}

const CHANGES: readonly Change[] = [
  { how: 'text of documents', plain: (plain, random) => changeTree(plain, random, poolOf([plain])) },
  {
    how: 'line',
    part({ lines }, random) {
      const at = below(random, lines.length)
      const pool = poolOf(lines)
      return `${at} ${changeTree(lines[at]!, random, pool)}`
    },
  },
  {
    how: 'lines',
    part(part, random) {
      const at = below(random, part.lines.length)
      const kind = random()
      if (kind < 0.4) part.lines.splice(at, 1)
      else if (kind < 0.7) part.lines.splice(at, 0, part.lines[at]!)
      else part.lines.push(part.lines[0]!)
      return `of ${part.from}`
    },
  },
  {
    how: 'definition',
    part({ lines }, random) {
      const line = lines.find((tree) => valueAt(tree, 'definition') !== undefined) ?? pick(random, lines)
      if (line.kind !== 'object') return 'nothing'
      const value = pick(random, [
        canonicalize(ORDER),
        ` ${canonicalize(ORDER)}`,
        '{"name":"other"}',
        '',
        'nul',
        '"x"',
        '[]',
        1,
        null,
        {},
      ])
      if (random() < 0.3)
        line.members.splice(
          line.members.findIndex(({ name }) => name === '"definition"'),
          1,
        )
      else setAt(line, ['definition'], value)
      return `${JSON.stringify(value)}`
    },
  },
  { how: 'text of lines', lines: (text, random) => mutateBytes(text, random, text) },
  {
    how: 'end of lines',
    lines: (text, random) =>
      Buffer.concat([text, encodeAny(pick(random, ['\n', '{}', '\r\n', ' ', '\0', pickPoint(random)]))]),
  },
  {
    how: 'line ends',
    lines: (text, random) =>
      Buffer.from(
        Buffer.from(text)
          .toString('utf8')
          .replaceAll('\n', pick(random, ['\r\n', ' \n', '\r'])),
      ),
  },
  { how: 'gzip', zip: hostileGzip },
  { how: 'gzip', zip: hostileGzip },
  {
    how: 'documents',
    part(part, random) {
      if (part.documents.length === 0)
        part.documents = pick(random, [Buffer.alloc(0), Buffer.alloc(4), Buffer.alloc(3), Buffer.from('x')])
      else if (random() < 0.5)
        part.documents = Buffer.concat([
          part.documents,
          pick(random, [Buffer.alloc(1), Buffer.alloc(4), Buffer.alloc(32), Buffer.of(0, 0, 0, 1, 7)]),
        ])
      else part.documents = mutateBytes(part.documents, random, part.documents)
      return `of ${part.from}`
    },
  },
  {
    how: 'tile',
    part({ tiles }, random) {
      const name = pick(random, [...tiles.keys()])
      const tile = tiles.get(name)!
      const tail = pick(random, [
        Buffer.alloc(1),
        Buffer.alloc(2),
        Buffer.alloc(32),
        Buffer.of(0, 1),
        Buffer.of(0, 1, 7),
      ])
      tiles.set(name, random() < 0.4 ? Buffer.concat([tile, tail]) : mutateBytes(tile, random, tile))
      return name
    },
  },
  { how: 'seal', seal: (seal, random) => changeTree(seal, random, poolOf([seal])) },
  { how: 'seal', seal: (seal, random) => changeTree(seal, random, poolOf([seal])) },
  {
    how: 'objects of the seal',
    seal(seal, random) {
      const objects =
        seal.kind === 'object' ? seal.members.find(({ name }) => name === '"objects"')?.value : undefined
      if (objects?.kind !== 'array') return 'nothing'
      const at = below(random, objects.items.length)
      const one = copyTree(objects.items[at]!)
      setAt(one, ['sha256'], 'ab'.repeat(32))
      if (random() < 0.3)
        setAt(objects.items[at]!, ['bytes'], pick(random, [0, -1, 1, 1.5, '1', null, 2 ** 53]))
      else objects.items.splice(random() < 0.5 ? at : at + 1, 0, one)
      return `object ${at}`
    },
  },
  {
    how: 'erasures',
    seal(seal, random) {
      const [subject, seq] = ['rec_01jegv5gyme00r000000000001', below(random, 12)]
      const strange = pick(random, [
        [subject, seq],
        [subject, seq, seq, seq],
        [subject, `${seq}`, seq],
        [subject, -1, 2],
        [subject, 1.5, 2],
        [1, 2, 3],
        {},
        '',
        'abc',
        null,
        [subject, true, 1],
        [subject, 2 ** 53, 1],
      ] as readonly unknown[])
      const known = valueAt(seal, 'erasures') as unknown[]
      setAt(
        seal,
        ['erasures'],
        pick(random, [[...known, strange], [...known, ...known], known.slice(1), {}, '', null]),
      )
      return JSON.stringify(strange)
    },
  },
  { how: 'bytes of the seal', bytes: (bytes, random) => mutateBytes(bytes, random, bytes) },
  {
    how: 'bytes around the seal',
    bytes: (bytes, random) =>
      Buffer.concat([
        encodeAny(pick(random, ['', ' ', '\ufeff', pickPoint(random)])),
        bytes,
        encodeAny(pick(random, ['', '\n', '\0', '{}', pickPoint(random)])),
      ]),
  },
  {
    how: 'note',
    note: (_, checkpoint, base, random) => hostileNote(checkpoint, base.chain.noteSigner as never, random)[0],
  },
  {
    how: 'note',
    note: (_, checkpoint, base, random) => hostileNote(checkpoint, base.chain.noteSigner as never, random)[0],
  },
  {
    how: 'bytes of a note',
    note: (note, _checkpoint, _base, random) => pick(random, ['rubbish', '', changeText(note, random)]),
  },
  {
    how: 'checkpoint of size 0',
    objects(objects, _random, { chain }) {
      objects.set('checkpoint', Buffer.from(chain.checkpoint(0)))
      return ''
    },
  },
  {
    how: 'object missing',
    objects(objects, random) {
      const name = pick(random, [...objects.keys()])
      objects.delete(name)
      return name
    },
  },
  {
    how: 'object changed',
    objects(objects, random) {
      const name = pick(random, [...objects.keys()])
      const data = objects.get(name)!
      objects.set(name, mutateBytes(data, random, data))
      return name
    },
  },
]
