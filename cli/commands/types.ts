import type { GetTypesAnswer } from '../../sdk/generated/api.ts'
import type { Column } from '../output.ts'
import { listItems, showItem } from '../resource.ts'

export const typesList = listItems({
  usage: 'types list',
  flags: '[--name NAME] [--limit N]',
  about: `Lists the ledger's types of records, by name, with the built-in types.`,
  options: { name: { type: 'string' } },
  optionsHelp: '  --name NAME      only versions of the type with this name',
  examples: ['types list', 'types list --name order | jq -r .type'],
  columns: [
    ['TYPE', ({ type }) => type],
    ['GATED', ({ gated }) => (gated ? 'yes' : 'no')],
    ['REGISTERED', ({ registeredAt }) => registeredAt],
    ['DIGEST', ({ digest }) => digest.slice(0, 16)],
  ] satisfies readonly Column<GetTypesAnswer['data'][number]>[],
  request: (client, _, { name }) => client.types.list({ name }),
})

export const typesGet = showItem({
  usage: 'types get NAME/VERSION',
  about: `Shows a type, with its definition.`,
  examples: ['types get order/1', 'types get order/1 | jq .definition > order-1.json'],
  request: (client, type) => client.types.get(type),
})
