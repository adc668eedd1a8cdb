import type pg from 'pg'
import type { Logger } from 'pino'
import type { Appender } from '../append/appender.ts'
import type { Lookups } from '../db/records/lookups.ts'
import type { Searches } from '../db/records/searches.ts'
import type { ServerKey } from '../db/schema/server-keys.ts'
import type { SignedCheckpoints } from '../followers/checkpoints/signed-checkpoints.ts'
import type { KeyMac } from '../ledgers/api-keys.ts'
import type { CallerCache } from '../ledgers/caller.ts'
import type { PublicLedgers } from '../ledgers/public-ledgers.ts'
import type { TypeRegistry } from '../ledgers/types/type-registry.ts'
import type { Admission } from '../load/admission.ts'
import type { ByteBudgets } from '../load/budgets.ts'
import type { SharedSlices } from '../load/slice.ts'
import type { Metrics } from '../observe/metrics/metrics.ts'
import type { Tracing } from '../observe/tracing/tracing.ts'
import type { Allowances } from '../outside/connector/allowances.ts'
import type { Inbox } from '../outside/federation/inbox.ts'
import type { ReceiveDeps } from '../outside/federation/receive.ts'
import type { KnownItems } from '../records/otlp/known-items.ts'
import type { CursorMac } from '../signing/cursor-mac.ts'
import type { Entropy } from '../signing/entropy.ts'
import type { EnvelopeKeys } from '../signing/envelope-keys.ts'
import type { MasterKey } from '../signing/master-key.ts'
import type { PeerMacs } from '../signing/peer-macs.ts'
import type { PeerWitnessKeys } from '../signing/peer-witness-keys.ts'
import type { Signers } from '../signing/signers.ts'
import type { Threads } from './bodies/threads.ts'
import type { WriteDeadlines } from './connections/write-deadlines.ts'
import type { Reads } from './reads/reads.ts'

/** Parts of the server. They are opened in this order and closed in reverse order. */
export type Deps = {
  readonly log: Logger
  readonly logRequests: boolean
  readonly metrics: Metrics
  /** Makes spans of requests. null if tracing is switched off. */
  readonly tracing: Tracing | null
  readonly now: () => number
  readonly entropy: Entropy
  readonly publicUrl: string
  /** Folder of the built console. null if the console is switched off. */
  readonly consoleDir: string | null
  readonly retentionDaysMin: number
  /** Keys of the operator. While the key is replaced, there are two. If there are none, all operator routes refuse. */
  readonly operatorKeys: readonly string[]
  readonly readPool: pg.Pool
  readonly searchPool: pg.Pool
  readonly lookups: Lookups
  readonly searches: Searches
  readonly reads: Reads
  readonly writePool: pg.Pool
  readonly signers: Signers
  readonly envelopeKeys: EnvelopeKeys
  readonly noteKey: ServerKey
  readonly checkpoints: SignedCheckpoints
  readonly keyMac: KeyMac
  readonly peerMacs: PeerMacs
  /** Keys that cosign checkpoints of peers. null if the server does not cosign them. */
  readonly peerWitnessKeys: PeerWitnessKeys | null
  readonly cursorMac: CursorMac
  /**
   * Seals the secrets of webhooks. The HTTP application uses the master key for nothing else, and never opens the
   * secrets.
   */
  readonly sealer: Pick<MasterKey, 'seal'>
  readonly outboundAllow: Allowances
  readonly callers: CallerCache
  readonly publicLedgers: PublicLedgers
  readonly admission: Admission
  /** Slices of the event loop for pages and streams. */
  readonly slices: SharedSlices
  readonly budgets: ByteBudgets
  readonly writeDeadlines: WriteDeadlines
  readonly appender: Appender
  readonly types: TypeRegistry
  readonly knownItems: KnownItems
  readonly threads: Threads
  readonly inbox: Inbox
  readonly observeReception: ReceiveDeps['observeReception']
  close(): Promise<void>
}
