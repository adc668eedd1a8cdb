import { hash } from 'node:crypto'
import { ARCHIVE_ENTRY_DOCUMENTS_MAX, ARCHIVE_PIECE_ENTRIES_MAX } from '../proof/limits.ts'

/*
 * Keys of the documents of one archive piece (docs/formats/archive.md).
 *
 * The keys are the leaves of a binary tree of secrets. Each secret determines its two children, and no child determines
 * its parent (Goldreich, Goldwasser, Micali 1986). To destroy one key, all secrets on the path from the root to this
 * key are removed, and the siblings of these secrets are stored instead. All other keys can then still be computed, and
 * nobody can compute the destroyed key.
 */

export const KEY_TREE_DEPTH = 24
export const DOCUMENT_KEY_BYTES = 32
/** Size of a packed node: depth, first position below the node, and secret. */
const NODE_BYTES = 1 + 4 + DOCUMENT_KEY_BYTES

type Node = { readonly depth: number; readonly first: number; readonly secret: Uint8Array }

/** Returns a document's position in its piece. Throws RangeError if a piece cannot have such a position. */
export function documentPosition(entryOffset: number, item: number): number {
  if (
    entryOffset < 0 ||
    entryOffset >= ARCHIVE_PIECE_ENTRIES_MAX ||
    item < 0 ||
    item >= ARCHIVE_ENTRY_DOCUMENTS_MAX
  )
    throw new RangeError(`no piece has a document ${item} of an entry ${entryOffset}`)
  return entryOffset * ARCHIVE_ENTRY_DOCUMENTS_MAX + item
}

/** Keys of a piece that were not destroyed. They are stored as secrets that determine the keys. */
export class DocumentKeys {
  #nodes: readonly Node[]
  /**
   * Secrets on the path to the key that was requested last. Positions are requested in order, so the next path begins
   * with most of these secrets.
   */
  #way: Node[] = []

  private constructor(nodes: readonly Node[]) {
    this.#nodes = nodes
  }

  /** Returns all keys of a new piece. `secret` is 32 random bytes. */
  static of(secret: Uint8Array): DocumentKeys {
    return new DocumentKeys([{ depth: 0, first: 0, secret }])
  }

  /** Reads packed secrets. Throws RangeError if `packed` is not a list of secrets. */
  static unpack(packed: Uint8Array): DocumentKeys {
    const bytes = Buffer.from(packed)
    if (bytes.length % NODE_BYTES !== 0) throw new RangeError(`${bytes.length} bytes are no document keys`)
    const nodes = Array.from({ length: bytes.length / NODE_BYTES }, (_, i) => {
      const node = bytes.subarray(i * NODE_BYTES, (i + 1) * NODE_BYTES)
      return { depth: node[0]!, first: node.readUInt32BE(1), secret: node.subarray(5) }
    })
    if (nodes.some(({ depth, first }) => depth > KEY_TREE_DEPTH || first % positionsBelow(depth) !== 0))
      throw new RangeError('a secret stands where the tree has none')
    return new DocumentKeys(nodes)
  }

  pack(): Buffer {
    return Buffer.concat(
      this.#nodes.map(({ depth, first, secret }) => {
        const head = Buffer.alloc(5)
        head[0] = depth
        head.writeUInt32BE(first, 1)
        return Buffer.concat([head, secret])
      }),
    )
  }

  /** Returns a document's key. Returns null if the key was destroyed. */
  find(position: number): Uint8Array | null {
    while (this.#way.length > 0 && !holds(this.#way.at(-1)!, position)) this.#way.pop()
    let node = this.#way.at(-1) ?? this.#nodes.find((one) => holds(one, position))
    if (!node) return null
    if (this.#way.length === 0) this.#way.push(node)
    while (node.depth < KEY_TREE_DEPTH) {
      node = childTowards(node, position)
      this.#way.push(node)
    }
    return node.secret
  }

  /**
   * If the key at this position was destroyed, copies the key from `other`. Returns false if `other` does not have the
   * key either.
   */
  adopt(position: number, other: DocumentKeys | undefined): boolean {
    if (this.find(position) !== null) return true
    const secret = other?.find(position)
    if (!secret) return false
    this.#nodes = [...this.#nodes, { depth: KEY_TREE_DEPTH, first: position, secret }]
    this.#way = []
    return true
  }

  /** Destroys a key. Returns false if the key was destroyed before. */
  destroy(position: number): boolean {
    const at = this.#nodes.findIndex((node) => holds(node, position))
    if (at < 0) return false
    const siblings: Node[] = []
    for (let node = this.#nodes[at]!; node.depth < KEY_TREE_DEPTH; node = childTowards(node, position))
      siblings.push(childTowards(node, position ^ (positionsBelow(node.depth) / 2)))
    this.#nodes = this.#nodes.toSpliced(at, 1, ...siblings)
    this.#way = []
    return true
  }
}

const positionsBelow = (depth: number) => 2 ** (KEY_TREE_DEPTH - depth)

function holds({ depth, first }: Node, position: number): boolean {
  return position >= first && position < first + positionsBelow(depth)
}

/**
 * Derives the child of a node on the way to `position`: HMAC-SHA256 of one byte under the parent's secret. The byte is
 * 0 for the left child and 1 for the right child.
 */
function childTowards({ depth, first, secret }: Node, position: number): Node {
  const half = positionsBelow(depth) / 2
  const side = position >= first + half ? 1 : 0
  return { depth: depth + 1, first: first + side * half, secret: hmacOfByte(secret, side) }
}

const BLOCK_BYTES = 64

/**
 * Computes HMAC-SHA256 (RFC 2104 §2) from two one-shot hashes. This takes 2.5 µs, while `createHmac` takes 15 µs. A
 * document needs two HMACs on average.
 */
function hmacOfByte(key: Uint8Array, byte: number): Buffer {
  const inner = Buffer.alloc(BLOCK_BYTES + 1, 0x36)
  const outer = Buffer.alloc(BLOCK_BYTES, 0x5c)
  for (const [i, one] of key.entries()) {
    inner[i]! ^= one
    outer[i]! ^= one
  }
  inner[BLOCK_BYTES] = byte
  return hash('sha256', Buffer.concat([outer, hash('sha256', inner, 'buffer')]), 'buffer')
}
