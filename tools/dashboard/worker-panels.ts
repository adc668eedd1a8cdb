import type { Row } from './panels.ts'
import { most, OF_ALL, quantiles, rate } from './selectors.ts'

export const WORKER_ROWS: readonly Row[] = [
  {
    title: 'Background work',
    panels: [
      {
        title: 'Since the last good round',
        description: 'Of each follower, in the best worker. Normal: a few seconds.',
        unit: 's',
        warnAbove: 120,
        runbook: 'work-stands-still.md',
        queries: [
          [
            `time() - max by (follower) (tallystick_follower_last_success_timestamp_seconds{${OF_ALL}})`,
            '{{follower}}',
          ],
        ],
      },
      {
        title: 'Oldest job that waits',
        description: 'Normal: seconds; audits wait for each other.',
        unit: 's',
        queries: [[most('tallystick_jobs_oldest_waiting_seconds', 'queue'), '{{queue}}']],
      },
      {
        title: 'Attempts that failed, and dead letters',
        description: 'A failed attempt is tried again. A dead letter waits for an operator.',
        unit: 'short',
        runbook: 'dead-letters.md',
        queries: [
          [
            `${rate('tallystick_job_attempts_total', 'queue, result', 'result!="completed"')} > 0`,
            '{{queue}} {{result}}/s',
          ],
          [most('tallystick_dead_letters', 'queue'), '{{queue}} dead letters'],
        ],
      },
    ],
  },
  {
    title: 'Checkpoints and audits',
    panels: [
      {
        title: 'Waits for a checkpoint',
        description: 'Age of the oldest entry that no checkpoint covers. Normal: a second or two.',
        unit: 's',
        warnAbove: 60,
        runbook: 'no-checkpoints.md',
        queries: [[most('tallystick_checkpoint_lag_seconds'), '']],
      },
      {
        title: 'Ledgers that something is wrong with',
        description:
          'With a fault; contradicted by a kept checkpoint; given no checkpoint by a worker. Normal: 0.',
        unit: 'short',
        warnAbove: 1,
        runbook: 'ledger-fault.md',
        queries: [
          [most('tallystick_ledger_faults'), 'fault'],
          [most('tallystick_contradicted_ledgers', 'finding'), '{{finding}}'],
          [most('tallystick_checkpoint_faulty_ledgers'), 'no checkpoint'],
        ],
      },
      {
        title: 'Since an audit found a ledger good',
        description: 'Normal: less than a day, where something is written daily.',
        unit: 's',
        warnAbove: 172_800,
        runbook: 'no-audit.md',
        queries: [[`time() - ${most('tallystick_audit_last_timestamp_seconds', '', 'result="good"')}`, '']],
      },
      {
        title: 'Erasures and key rotation',
        description:
          'Documents that are erased and still stored; ledgers whose rules of retention are not carried out; ledgers that an older envelope key signs for. Normal: 0 after minutes.',
        unit: 'short',
        runbook: 'erasures-pending.md',
        queries: [
          [most('tallystick_erasures_pending'), 'erasures pending'],
          [most('tallystick_erasures_refused'), 'erasures refused'],
          [most('tallystick_retention_failing_ledgers'), 'ledgers with rules that fail'],
          [most('tallystick_key_rotation_pending_ledgers'), 'ledgers to rotate'],
          [most('tallystick_key_rotation_failing_ledgers'), 'ledgers that fail to'],
        ],
      },
    ],
  },
  {
    title: 'Verification and completions',
    panels: [
      {
        title: 'From a completion to what was found',
        description: 'Normal: about a tenth of a second, p99 under a second.',
        unit: 's',
        runbook: 'completions-wait.md',
        queries: [
          ...quantiles('tallystick_completion_verification_seconds'),
          [most('tallystick_completions_oldest_waiting_seconds'), 'oldest that waits'],
        ],
      },
      {
        title: 'Completions, by what was found',
        description:
          'Fail is the rules’ judgement. Refused is an alarm: what is stored is not what was signed.',
        unit: 'cps',
        runbook: 'integrity-refused.md',
        queries: [[rate('tallystick_completions_verified_total', 'outcome'), '{{outcome}}']],
      },
      {
        title: 'Verification lag',
        description: 'Age of the oldest entry that is not verified. Normal: seconds; minutes after a burst.',
        unit: 's',
        warnAbove: 900,
        runbook: 'verification-lags.md',
        queries: [[most('tallystick_entry_verification_lag_seconds'), '']],
      },
      {
        title: 'Deadlines',
        description:
          'Records that are past their deadline and not expired. Normal: none for longer than a second.',
        unit: 'short',
        runbook: 'records-overdue.md',
        queries: [
          [most('tallystick_records_overdue'), 'overdue'],
          [most('tallystick_expiries_refused'), 'refused'],
          [rate('tallystick_records_expired_total'), 'expired/s'],
        ],
      },
    ],
  },
  {
    title: 'Webhooks',
    panels: [
      {
        title: 'Attempts, and why they fail',
        description:
          'Failed is tried again, dead was the last one. The same reason for all endpoints: the workers don’t get out.',
        unit: 'cps',
        runbook: 'webhook-deliveries-dead.md',
        queries: [
          [rate('tallystick_webhook_attempts_total', 'outcome'), '{{outcome}}'],
          [`${rate('tallystick_webhook_attempt_failures_total', 'reason')} > 0`, '{{reason}}'],
        ],
      },
      {
        title: 'From an event to its delivery',
        description: 'Normal: p50 under 0.1 s, p99 under 1 s, but for endpoints that fail.',
        unit: 's',
        runbook: 'webhooks-not-delivered.md',
        queries: [
          ...quantiles('tallystick_webhook_lag_seconds'),
          [most('tallystick_webhook_cursor_lag_seconds'), 'furthest behind'],
        ],
      },
      {
        title: 'Endpoints',
        description: 'By state; and of the active ones those that fail or have not come to all entries.',
        unit: 'short',
        runbook: 'webhook-endpoint-stopped.md',
        queries: [
          [most('tallystick_webhook_endpoints', 'state'), '{{state}}'],
          [most('tallystick_webhook_endpoints_failing'), 'failing'],
          [most('tallystick_webhook_endpoints_behind'), 'behind'],
        ],
      },
    ],
  },
  {
    title: 'Federation',
    panels: [
      {
        title: 'Entries that peers sent',
        description:
          'By what servers answered, and why they refused. Missing is usual after a replay. A fork is an alarm.',
        unit: 'cps',
        runbook: 'peer-fork.md',
        queries: [
          [rate('tallystick_peer_entries_received_total', 'outcome'), '{{outcome}}'],
          [`${rate('tallystick_peer_entries_refused_total', 'code')} > 0`, 'refused: {{code}}'],
        ],
      },
      {
        title: 'Furthest behind',
        description:
          'Age of the oldest entry that a peer has not come to. Normal: seconds, but for peers that fail. Suspended ones fall behind on purpose.',
        unit: 's',
        runbook: 'peers-not-drained.md',
        queries: [
          [most('tallystick_peer_lag_seconds', 'state'), '{{state}}'],
          [most('tallystick_peers_failing_seconds'), 'fails for'],
        ],
      },
      {
        title: 'Requests to peers',
        description:
          'How long they take, and why they fail, a second. The same reason for all peers: the workers don’t get out.',
        unit: 's',
        runbook: 'peer-fails.md',
        queries: [
          ...quantiles('tallystick_peer_request_duration_seconds'),
          [`${rate('tallystick_peer_request_failures_total', 'reason')} > 0`, '{{reason}}/s'],
        ],
      },
      {
        title: 'Left over',
        description:
          'Entries that were refused for good; entries of peers that contradict another; offers that nobody has decided yet. Normal: no dead letters, no forks.',
        unit: 'short',
        runbook: 'peer-dead-letters.md',
        queries: [
          [most('tallystick_peer_dead_letters'), 'dead letters'],
          [most('tallystick_peer_forks'), 'forks'],
          [most('tallystick_peer_offers_pending'), 'open offers'],
        ],
      },
    ],
  },
]
