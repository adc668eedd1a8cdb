import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { BuiltBatch } from '../write/build-batch.ts'
import { type BatchDeps, notarizeBatch } from '../write/notarize-batch.ts'
import type { Grouped, KnownItems } from './known-items.ts'
import { OTLP_ATTEMPTS_MAX } from './limits.ts'

/** Number of rejected spans or logs. `message`: the reasons; empty if nothing was rejected. */
export type Rejected = { readonly rejected: number; readonly message: string }

/** A decoded request: its batches, and its rejected spans or logs. */
export type OtlpRead = Rejected & {
  readonly batches: readonly { readonly built: BuiltBatch; readonly items: Grouped }[]
  /**
   * Size of the decompressed body, or of its records if that is larger. Each record includes its resource and scope.
   */
  readonly bytes: number
}

/** Reads the request again, without the spans or logs in `known`. */
type ReadWithout = (known: Grouped) => Promise<OtlpRead>

/**
 * Notarizes those spans or logs of a request that are new to the ledger, in one signed batch. A very large request
 * becomes a few batches. After the commit, returns the number of rejected spans or logs, and the reasons. Spans whose
 * records were erased are rejected too.
 */
export async function notarizeOtlp(
  deps: BatchDeps & { readonly knownItems: KnownItems },
  caller: Caller,
  read: OtlpRead,
  readWithout: ReadWithout,
): Promise<Rejected> {
  if (read.batches.length === 0) return read
  return deps.knownItems.whileReserved(caller, groupsOf(read), () => write(deps, caller, read, readWithout))
}

function* groupsOf({ batches }: OtlpRead): Generator<string> {
  for (const { items } of batches) yield* items.keys()
}

/** Turns a conflict into an error with status 503. Exporters do not retry conflicts, but a retry will succeed. */
function orLater(error: unknown): Error {
  return error instanceof ApiError && error.code === 'state_conflict' ? tryAgain() : (error as Error)
}

function tryAgain(): ApiError {
  return new ApiError(
    'overloaded',
    'other requests wrote to the same traces meanwhile: send the request again',
    {
      retryable: true,
      retryAfterMs: 1_000,
    },
  )
}

/** Thrown just before a batch is signed, if the ledger already has some of the spans. */
class Repeated extends Error {
  readonly items: Grouped

  constructor(items: Grouped) {
    super()
    this.items = items
  }
}

async function write(
  deps: BatchDeps & { readonly knownItems: KnownItems },
  caller: Caller,
  first: OtlpRead,
  readWithout: ReadWithout,
): Promise<Rejected> {
  const done: Grouped[] = []
  let read = first
  for (let attempt = 0; attempt < OTLP_ATTEMPTS_MAX; attempt++) {
    const left = [...read.batches]
    try {
      for (let batch = left.shift(); batch; batch = left.shift()) {
        const { built, items } = batch
        const { seq } = await notarizeBatch(deps, caller, built, null, unseenBefore(deps, caller, items))
        deps.knownItems.note(caller, items, seq)
        done.push(items)
      }
      return read
    } catch (error) {
      if (!(error instanceof Repeated)) throw orLater(error)
      done.push(error.items)
      // The other batches of the request probably contain known items too. So the known items of all batches are
      // collected, and the request is read again without them.
      for (const { items } of left) done.push((await deps.knownItems.find(caller, items)).repeated)
      read = await readWithout(merged(done))
    }
  }
  throw tryAgain()
}

/**
 * Returns a function that is called each time the batch is signed. The function returns a size of the ledger at which
 * none of the items existed, and throws Repeated if some items already exist.
 *
 * If none of the groups is cached, the items are probably new. Then the first call returns 0 without a read, and
 * append_entries answers `stale` if an item exists.
 */
function unseenBefore(
  { knownItems }: { readonly knownItems: KnownItems },
  caller: Caller,
  items: Grouped,
): () => Promise<number> {
  let isNew = !knownItems.remembers(caller, items)
  return async () => {
    if (isNew) {
      isNew = false
      return 0
    }
    const { size, repeated } = await knownItems.find(caller, items)
    if (repeated.size > 0) throw new Repeated(repeated)
    return size
  }
}

function merged(all: readonly Grouped[]): Grouped {
  const merged = new Map<string, string[]>()
  for (const items of all)
    for (const [group, identities] of items) merged.set(group, [...(merged.get(group) ?? []), ...identities])
  return merged
}
