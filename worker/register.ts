import { type EnqueueDeps, enqueueLeases } from '../src/db/jobs/lease-jobs.ts'
import { type ArchiveDeps, archiveLedgers } from '../src/followers/archive/archive-ledgers.ts'
import { type ReleaseDeps, releaseContent } from '../src/followers/archive/release-content.ts'
import { type CheckCursorsDeps, makeCursorRound } from '../src/followers/audit/check-cursors.ts'
import { type EnqueueAuditsDeps, enqueueAudits } from '../src/followers/audit/enqueue-audits.ts'
import { type FollowUrgentDeps, followEntries, followUrgent } from '../src/followers/audit/follow-entries.ts'
import { type AuditDeps, runAudit } from '../src/followers/audit/run-audit.ts'
import { type ScheduleAuditsDeps, scheduleAudits } from '../src/followers/audit/schedule-audits.ts'
import { type PublishDeps, publishCheckpoints } from '../src/followers/checkpoints/publish.ts'
import type { RestoredLedgers } from '../src/followers/checkpoints/restored-ledgers.ts'
import { type ErasureDeps, makeErasureRound } from '../src/followers/erasure/carry-out.ts'
import { type ExpireDeps, makeExpiryRound } from '../src/followers/expiry/expire-records.ts'
import {
  ARCHIVE_EVERY_MS,
  ARCHIVE_TIME_SHARE_MAX,
  AUDIT_CURSORS_EVERY_MS,
  AUDIT_ENQUEUE_EVERY_MS,
  AUDIT_SCHEDULE_CRON,
  CHECKPOINT_EVERY_MS,
  COMPLETION_BATCHES_AT_ONCE,
  COMPLETION_ENQUEUE_EVERY_MS,
  COMPLETION_SWEEP_EVERY_MS,
  COMPLETIONS_PER_BATCH,
  ENTRY_FOLLOWER_AWAITED_EVERY_MS,
  ENTRY_FOLLOWER_AWAITED_TIME_SHARE_MAX,
  ENTRY_FOLLOWER_EVERY_MS,
  ENTRY_FOLLOWER_TIME_SHARE_MAX,
  ERASURE_EVERY_MS,
  EXPIRY_EVERY_MS,
  EXPIRY_TIME_SHARE_MAX,
  RELEASE_EVERY_MS,
  RELEASE_TIME_SHARE_MAX,
  RESTORED_EVERY_MS,
  RETENTION_EVERY_MS,
  RETENTION_TIME_SHARE_MAX,
  ROTATION_EVERY_MS,
} from '../src/followers/limits.ts'
import type { Follower } from '../src/followers/loop.ts'
import { type RetentionDeps, sweepRetention } from '../src/followers/retention/sweep.ts'
import { type RotateDeps, rotateKeys } from '../src/followers/rotation/rotate-keys.ts'
import {
  type EnqueueCompletionsDeps,
  releaseCompletions,
} from '../src/followers/verification/enqueue-completions.ts'
import {
  type VerificationResult,
  type VerifyCompletionsDeps,
  verifyCompletions,
} from '../src/followers/verification/verify-completions.ts'
import { makeVerificationRound } from '../src/followers/verification/verify-waiting.ts'
import type { Waker } from '../src/followers/waker.ts'
import type { WitnessSender } from '../src/followers/witnesses/witness-sender.ts'
import { PEER_JOBS } from '../src/outside/federation/enqueue.ts'
import {
  PEER_DRAINS_MAX,
  PEER_ENQUEUE_EVERY_MS,
  PEER_ENQUEUE_TIME_SHARE_MAX,
} from '../src/outside/federation/limits.ts'
import type { PeerSenders } from '../src/outside/federation/peer-sender.ts'
import type { EndpointSenders } from '../src/outside/webhooks/endpoint-senders.ts'
import { WEBHOOK_JOBS } from '../src/outside/webhooks/enqueue.ts'
import {
  WEBHOOK_ENDPOINTS_MAX,
  WEBHOOK_ENQUEUE_EVERY_MS,
  WEBHOOK_ENQUEUE_TIME_SHARE_MAX,
  WEBHOOK_UPKEEP_EVERY_MS,
  WEBHOOK_UPKEEP_TIME_SHARE_MAX,
} from '../src/outside/webhooks/limits.ts'
import { makeWebhookUpkeep } from '../src/outside/webhooks/upkeep.ts'
import { parseId } from '../src/proof/ids.ts'
import { type JobOutcome, type QueueWork, queueWork } from './work-queues.ts'

/** Registers background work that runs in rounds. Each row of the table is one follower. */
export function registerFollowers(
  deps: PublishDeps &
    ErasureDeps &
    RetentionDeps &
    RotateDeps &
    EnqueueAuditsDeps &
    EnqueueCompletionsDeps &
    VerifyCompletionsDeps &
    Omit<EnqueueDeps, 'wake'> &
    ExpireDeps &
    FollowUrgentDeps &
    CheckCursorsDeps & {
      /** Wakes the webhook senders of this process. The senders of other processes poll once a second. */
      readonly wakeDelivery: () => void
      readonly wakeDrain: () => void
      readonly restored: RestoredLedgers
      /** What the archive followers need; null if no archive is configured. */
      readonly archive: ArchiveDeps | null
      /** What the release of content needs; null if all content stays in Postgres. */
      readonly release: ReleaseDeps | null
      readonly witnesses: readonly WitnessSender[]
      /**
       * `completionsWaker` wakes the follower of completions. `urgentWaker` wakes the follower of ledgers with a
       * waiting settlement.
       */
      readonly completionsWaker: Waker
      readonly urgentWaker: Waker
    },
): Follower[] {
  return [
    { name: 'checkpoints', everyMs: CHECKPOINT_EVERY_MS, step: () => publishCheckpoints(deps) },
    {
      name: 'retention',
      everyMs: RETENTION_EVERY_MS,
      timeShareMax: RETENTION_TIME_SHARE_MAX,
      step: () => sweepRetention(deps),
    },
    { name: 'erasures', everyMs: ERASURE_EVERY_MS, step: makeErasureRound(deps) },
    // The follower of restored ledgers pauses only briefly after a failure. It fails while the database is being
    // restored, because the database is unreachable. It must retry soon, because servers write to the database as soon
    // as it is back.
    {
      name: 'restored-ledgers',
      everyMs: RESTORED_EVERY_MS,
      failurePauseMsMax: RESTORED_EVERY_MS,
      step: () => deps.restored.step(),
    },
    { name: 'rotate-keys', everyMs: ROTATION_EVERY_MS, step: () => rotateKeys(deps) },
    {
      name: 'entries',
      everyMs: ENTRY_FOLLOWER_EVERY_MS,
      timeShareMax: ENTRY_FOLLOWER_TIME_SHARE_MAX,
      shareOf: 'cpu',
      threadsCpuMs: () => deps.verifier.cpuMs,
      step: () => followEntries(deps),
    },
    {
      name: 'awaited-entries',
      everyMs: ENTRY_FOLLOWER_AWAITED_EVERY_MS,
      timeShareMax: ENTRY_FOLLOWER_AWAITED_TIME_SHARE_MAX,
      shareOf: 'cpu',
      threadsCpuMs: () => deps.urgentVerifier.cpuMs,
      waker: deps.urgentWaker,
      step: () => followUrgent(deps),
    },
    { name: 'audit-cursors', everyMs: AUDIT_CURSORS_EVERY_MS, step: makeCursorRound(deps) },
    {
      name: 'completions',
      everyMs: COMPLETION_ENQUEUE_EVERY_MS,
      waker: deps.completionsWaker,
      step: makeVerificationRound(deps),
    },
    { name: 'lost-completions', everyMs: COMPLETION_SWEEP_EVERY_MS, step: () => releaseCompletions(deps) },
    {
      name: 'expiry',
      everyMs: EXPIRY_EVERY_MS,
      timeShareMax: EXPIRY_TIME_SHARE_MAX,
      step: makeExpiryRound(deps),
    },
    { name: 'audits', everyMs: AUDIT_ENQUEUE_EVERY_MS, step: () => enqueueAudits(deps) },
    {
      name: 'webhooks',
      everyMs: WEBHOOK_ENQUEUE_EVERY_MS,
      timeShareMax: WEBHOOK_ENQUEUE_TIME_SHARE_MAX,
      step: () => enqueueLeases({ ...deps, wake: deps.wakeDelivery }, WEBHOOK_JOBS),
    },
    {
      name: 'webhook-upkeep',
      everyMs: WEBHOOK_UPKEEP_EVERY_MS,
      timeShareMax: WEBHOOK_UPKEEP_TIME_SHARE_MAX,
      step: makeWebhookUpkeep(deps),
    },
    {
      name: 'peers',
      everyMs: PEER_ENQUEUE_EVERY_MS,
      timeShareMax: PEER_ENQUEUE_TIME_SHARE_MAX,
      step: () => enqueueLeases({ ...deps, wake: deps.wakeDrain }, PEER_JOBS),
    },
    ...deps.witnesses.map((sender) => sender.follower),
    ...archiveFollowers(deps.archive),
    ...releaseFollowers(deps.release),
  ]
}

/**
 * Makes the followers `archive` and `release`. Their share limits their CPU time, not their wall time. While they wait
 * for a bucket, or for a core of a busy machine, they take nothing from other work.
 */
function archiveFollowers(archive: ArchiveDeps | null): Follower[] {
  if (archive === null) return []
  return [
    {
      name: 'archive',
      everyMs: ARCHIVE_EVERY_MS,
      timeShareMax: ARCHIVE_TIME_SHARE_MAX,
      shareOf: 'cpu',
      step: () => archiveLedgers(archive),
    },
  ]
}

function releaseFollowers(release: ReleaseDeps | null): Follower[] {
  if (release === null) return []
  return [
    {
      name: 'release',
      everyMs: RELEASE_EVERY_MS,
      timeShareMax: RELEASE_TIME_SHARE_MAX,
      shareOf: 'cpu',
      step: () => releaseContent(release),
    },
  ]
}

/**
 * Registers background work that runs in jobs. Each row of the table is one queue. src/db/jobs/queues.ts says how jobs
 * are retried.
 */
export function registerQueues(
  deps: AuditDeps &
    ScheduleAuditsDeps &
    VerifyCompletionsDeps & {
      readonly webhookSenders: EndpointSenders
      readonly peerSenders: PeerSenders
    },
): QueueWork[] {
  return [
    queueWork({
      queue: 'verify-completion',
      concurrency: COMPLETION_BATCHES_AT_ONCE,
      batchSize: COMPLETIONS_PER_BATCH,
      handleBatch: async (payloads) => {
        const names = payloads.map(({ ledger, record }) => ({
          ledgerId: parseId('led', ledger),
          recordId: parseId('rec', record),
        }))
        return (await verifyCompletions(deps, names)).map(outcomeOf)
      },
    }),
    queueWork({
      queue: 'deliver-webhook',
      slots: WEBHOOK_ENDPOINTS_MAX,
      // The endpoint's lease belongs to this job id.
      handleInSlot: ({ ledger, webhook }, jobId) =>
        deps.webhookSenders.take({
          ledgerId: parseId('led', ledger),
          webhookId: parseId('whk', webhook),
          jobId,
        }),
    }),
    queueWork({
      queue: 'drain-peer',
      slots: PEER_DRAINS_MAX,
      handleInSlot: ({ ledger, peer }, jobId) =>
        deps.peerSenders.take({ ledgerId: parseId('led', ledger), peerId: parseId('peer', peer), jobId }),
    }),
    queueWork({
      queue: 'audit',
      concurrency: 1,
      handle: ({ ledger, audit }, job) =>
        runAudit(deps, { ledgerId: parseId('led', ledger), auditId: parseId('aud', audit) }, job),
    }),
    queueWork({
      queue: 'audit-schedule',
      concurrency: 1,
      cron: AUDIT_SCHEDULE_CRON,
      handle: () => scheduleAudits(deps),
    }),
  ]
}

/**
 * Converts the result of a verification to a job's outcome. A refused completion is given up immediately, because a
 * retry does not change the stored data.
 */
function outcomeOf(result: VerificationResult): JobOutcome {
  if (result.status === 'done') return { status: 'completed' }
  return { status: result.status === 'failed' ? 'failed' : 'deadletter', error: result.error }
}
