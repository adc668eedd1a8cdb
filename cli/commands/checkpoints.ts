import type { GetCheckpointsAnswer } from '../../sdk/generated/api.ts'
import type { Column } from '../output.ts'
import { listItems } from '../resource.ts'

export const checkpointsList = listItems({
  usage: 'checkpoints list',
  flags: '[--limit N]',
  about: `Lists the sizes at which the ledger's checkpoints were published, newest first. Needs a key with the scope audit:read.`,
  examples: ['checkpoints list --limit 10', 'checkpoints list --limit 1 | jq .size'],
  columns: [
    ['SIZE', ({ size }) => size],
    ['PUBLISHED', ({ publishedAt }) => publishedAt],
  ] satisfies readonly Column<GetCheckpointsAnswer['data'][number]>[],
  request: (client) => client.checkpoints.list(),
})
