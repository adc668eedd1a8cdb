import { equalBytes, toBase64 } from '../bytes.ts'
import { HASH_BYTES, type ProofProviders } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { WITNESS_PATH_MAX } from '../limits.ts'
import { type LogTree, parseLogTree, verifyLogSignature } from './checkpoint.ts'
import { verifyConsistency } from './merkle.ts'
import { decodeBase64, type Note, type NoteKey, parseNote } from './note.ts'

/*
 * The request of C2SP tlog-witness, and a witness's decision about it. The decision depends only on the request and on
 * the trees that the witness cosigned before.
 */

/** A request that was not verified yet. `path`: RFC 9162 consistency proof that begins at `oldSize`. */
export type AddCheckpoint = {
  readonly oldSize: number
  readonly path: readonly Uint8Array[]
  readonly note: string
}

/** The largest tree of a log that a witness cosigned. */
export type SeenTree = Pick<LogTree, 'size' | 'root'>

export function formatAddCheckpoint({ oldSize, path, note }: AddCheckpoint): string {
  return `old ${oldSize}\n${path.map((hash) => `${toBase64(hash)}\n`).join('')}\n${note}`
}

const OLD = /^old (0|[1-9][0-9]{0,15})$/

/** Parses a request. Throws `note_syntax`, for which a witness answers 400. */
export function parseAddCheckpoint(body: string): AddCheckpoint {
  const end = body.indexOf('\n\n')
  const [first = '', ...hashes] = body.slice(0, Math.max(end, 0)).split('\n')
  const oldSize = Number(OLD.exec(first)?.[1])
  if (!Number.isSafeInteger(oldSize))
    throw new ProofError('note_syntax', 'the first line of the request must be `old <size>`')
  if (hashes.length > WITNESS_PATH_MAX)
    throw new ProofError(
      'note_syntax',
      `the consistency proof has ${hashes.length} hashes, but at most ${WITNESS_PATH_MAX} are allowed`,
    )
  return { oldSize, path: hashes.map(parseHash), note: body.slice(end + 2) }
}

function parseHash(line: string): Uint8Array {
  const hash = decodeBase64(line, 'note_syntax')
  if (hash.length !== HASH_BYTES)
    throw new ProofError(
      'note_syntax',
      `a hash of the consistency proof has ${hash.length} bytes, not ${HASH_BYTES}`,
    )
  return hash
}

/** A log that a witness knows. It has an origin, and keys of type 01 that may sign for it. */
export type KnownLog = { readonly origin: string; readonly keys: readonly NoteKey[] }

/**
 * Reason why a checkpoint is not cosigned, with the status that C2SP defines. `size`: the largest size that was
 * cosigned.
 */
export type Refusal =
  | { readonly status: 400 | 403 | 404 | 422; readonly reason: string }
  | { readonly status: 409; readonly size: number }

/**
 * Decision about a request. `signed`: the tree that the log signed, even if the request is refused. null if the log's
 * signature was not verified.
 */
export type Judgement =
  | { readonly refusal: null; readonly signed: SignedTree }
  | { readonly refusal: Refusal; readonly signed: SignedTree | null }

type SignedTree = { readonly note: Note; readonly tree: LogTree }

/**
 * Decides about a request by the checks of C2SP tlog-witness, in their order, so that all witnesses give the same
 * answer. `findSeen` returns the largest cosigned tree of the log, or null. For each log, the caller MUST call this
 * function and store the new tree in one atomic step.
 */
export function judgeCheckpoint(
  body: string,
  findLog: (origin: string) => KnownLog | null,
  findSeen: (origin: string) => SeenTree | null,
  providers: ProofProviders,
): Judgement {
  let log: KnownLog | null = null
  try {
    const request = parseAddCheckpoint(body)
    const note = parseNote(request.note)
    const tree = parseLogTree(note.text)
    log = findLog(tree.origin)
    if (log === null)
      return { refusal: { status: 404, reason: `the log ${tree.origin} is unknown here` }, signed: null }
    verifyLogSignature(note, log.keys, providers.verifySignature)
    return {
      refusal: judgeGrowth(request, tree, findSeen(tree.origin), providers),
      signed: { note, tree },
    }
  } catch (error) {
    // Errors before the log is found are syntax errors (400). Later errors mean that the log's signature is wrong
    // (403).
    return { refusal: { status: log === null ? 400 : 403, reason: detailOf(error) }, signed: null }
  }
}

function judgeGrowth(
  { oldSize, path }: AddCheckpoint,
  { size, root }: LogTree,
  seen: SeenTree | null,
  { sha256 }: ProofProviders,
): Refusal | null {
  if (oldSize > size)
    return { status: 400, reason: `the old size ${oldSize} is larger than the checkpoint's ${size}` }
  const seenSize = seen?.size ?? 0
  if (oldSize !== seenSize) return { status: 409, size: seenSize }
  try {
    if (size === 0) verifyEmpty(root, sha256(new Uint8Array(0)), path)
    else if (seenSize === 0) verifyEmpty(root, root, path)
    else verifyConsistency(sha256, oldSize, size, path, seen!.root, root)
    return null
  } catch (error) {
    return { status: 422, reason: detailOf(error) }
  }
}

/** Returns the detail of a ProofError. Throws any other error again, because a request cannot cause other errors. */
function detailOf(error: unknown): string {
  if (error instanceof ProofError) return error.detail
  throw error
}

/**
 * Returns true if the log signed two different trees of the same size. Both signed notes together prove this to
 * anybody.
 */
export function isFork(seen: SeenTree | null, { size, root }: SeenTree): boolean {
  return seen?.size === size && !equalBytes(seen.root, root)
}

/** Verifies growth from the empty tree. Every tree begins with the empty tree, so the path must be empty. */
function verifyEmpty(root: Uint8Array, expected: Uint8Array, path: readonly Uint8Array[]): void {
  if (path.length > 0)
    throw new ProofError('merkle_path', 'a consistency proof from an empty tree must have no hashes')
  if (!equalBytes(root, expected))
    throw new ProofError('merkle_path', 'the root for 0 entries is not the root of an empty tree')
}
