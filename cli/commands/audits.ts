import type { Audit } from '../../sdk/generated/api.ts'
import type { Column } from '../output.ts'
import { listItems, showItem } from '../resource.ts'

export const auditsList = listItems({
  usage: 'audits list',
  flags: '[--limit N]',
  about: `Lists audits, newest first: those of the daily schedule, and requested ones (\`tallystick audit\`). The server stores
the last hundred that ended. Needs a key with the scope audit:read.`,
  examples: ['audits list --limit 5', `audits list | jq 'select(.ok == false)'`],
  columns: [
    ['ID', ({ id }) => id],
    ['REQUESTED', ({ requestedAt }) => requestedAt],
    ['BY', ({ requestedBy }) => requestedBy ?? 'schedule'],
    ['STATE', ({ state }) => state],
    ['ENTRIES', ({ progress }) => progress.entriesDone],
    ['FOUND', ({ ok, report, error }) => (ok ? 'intact' : (report?.failure?.code ?? error?.code ?? ''))],
  ] satisfies readonly Column<Audit>[],
  request: (client) => client.audits.list(),
})

export const auditsGet = showItem({
  usage: 'audits get AUDIT',
  about: `Shows an audit: its progress, what it found, and why it failed. Needs a key with the scope audit:read.`,
  examples: ['audits get aud_01kd2m3n4p5q6r7s8t9v0w1x2y'],
  request: (client, id) => client.audits.get(id),
})
