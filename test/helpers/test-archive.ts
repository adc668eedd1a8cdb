import { gzipSync } from 'node:zlib'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { formatVerifierKey } from '../../src/proof/tree/checkpoint.ts'
import { DocumentKeys, documentPosition } from '../../src/signing/document-keys.ts'
import { sha256Hex } from '../../src/signing/sha256.ts'
import { NO_DOCUMENT, sealDocument } from '../../src/verify/archive/document-cipher.ts'
import { formatArchiveKeys, parseArchiveKeys } from '../../src/verify/archive/key-file.ts'
import { CHECKPOINT_OBJECT, pieceObjectName, sealName } from '../../src/verify/archive/seal.ts'
import type { ArchiveFiles } from './altered-archive.ts'
import { sha256, type TestChain, type TestLine } from './test-chain.ts'

const SECRET = Buffer.alloc(32, 7)

/**
 * Makes a small archive of the chain, with one seal and one piece for each size. Each size must be below 256.
 * `definitions`: maps the name of a type to its definition.
 */
export function archiveOf(
  chain: TestChain,
  sizes: readonly number[],
  definitions: Readonly<Record<string, JsonValue>>,
) {
  const files = new Map<string, Buffer>()
  const add = (name: string, bytes: Buffer) => {
    files.set(name, bytes)
    return { name, bytes: bytes.length, sha256: sha256Hex(bytes) }
  }
  const { ledger: id, issuer, origin, noteSigner } = chain
  const ledger = {
    id,
    name: 'test',
    issuer,
    origin,
    noteVerifierKey: formatVerifierKey(origin, noteSigner.key.raw, sha256),
  }
  let previous: string | null = null
  for (const [i, size] of sizes.entries()) {
    const from = sizes[i - 1] ?? 0
    const keys = DocumentKeys.of(SECRET)
    const lines = chain.lines.slice(from, size)
    const sealed = lines.flatMap((line) =>
      line.documents.map(({ salt, document, references }, item) =>
        salt === null
          ? NO_DOCUMENT
          : sealDocument(
              JSON.stringify({ salt, document, ...(references && { references }) }),
              keys.find(documentPosition(line.seq - from, item))!,
            ),
      ),
    )
    const content = {
      lines: gzipSync(lines.map((line) => `${JSON.stringify(lineOf(line, definitions))}\n`).join('')),
      documents: Buffer.concat(sealed),
    }
    const named = (kind: 'lines' | 'documents') =>
      add(pieceObjectName(kind, from, sha256Hex(content[kind])), content[kind])
    const piece = [named('lines'), named('documents')] as const
    const seal: object = {
      ...{ archive: 1, ledger, keys: chain.keys(), from, size, previous, checkpoint: chain.checkpoint(size) },
      erasures: lines.filter(({ kind }) => kind === 'payload-erased').map((line) => erasureOf(chain, line)),
      pieces: [{ from, end: size, lines: piece[0].name, documents: piece[1].name }],
      objects: [
        add(`tile/entries/000.p/${size}`, Buffer.concat(chain.lines.slice(0, size).map(bundled))),
        add(
          `tile/0/000.p/${size}`,
          Buffer.from(
            chain.lines
              .slice(0, size)
              .map(({ leaf }) => leaf)
              .join(''),
            'hex',
          ),
        ),
        ...piece,
      ],
    }
    previous = add(sealName(size), Buffer.from(JSON.stringify(seal))).sha256
  }
  files.set(CHECKPOINT_OBJECT, Buffer.from(chain.checkpoint(sizes.at(-1)!)))
  const pieces = [0, ...sizes.slice(0, -1)].map((from) => ({ from, packed: DocumentKeys.of(SECRET).pack() }))
  return { files: files as ArchiveFiles, keys: parseArchiveKeys(formatArchiveKeys(id, pieces)) }
}

function lineOf({ envelope: _, ...line }: TestLine, definitions: Readonly<Record<string, JsonValue>>) {
  const { documents, items, kind } = line
  const shown = documents.map(({ subject, digest, erasedBy }) =>
    items === null ? { subject, digest, erasedBy } : erasedBy,
  )
  const [definition] = kind === 'type-registered' ? Object.values(definitions) : []
  return {
    ...line,
    documents: shown,
    ...(definition !== undefined && { definition: canonicalize(definition) }),
  }
}

function erasureOf(chain: TestChain, { seq }: TestLine) {
  const of = chain.lines.find(({ documents }) => documents.some(({ erasedBy }) => erasedBy === seq))!
  return [of.documents.find(({ erasedBy }) => erasedBy === seq)!.subject, of.seq, seq]
}

function bundled({ envelope }: TestLine): Buffer {
  const bytes = Buffer.from(envelope, 'base64')
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}
