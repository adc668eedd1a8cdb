import type { FastifyInstance } from 'fastify'
import { findKey, type KeyRow } from '../../db/ledgers/api-keys.ts'
import { type LedgerSummaryRow, listLedgerSummaries } from '../../db/ledgers/ledgers.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { createLedger } from '../../ledgers/create-ledger.ts'
import { getLedgerSummary, reissueKey, setFrozen } from '../../ledgers/operate-ledger.ts'
import { formatId, parseId } from '../../proof/ids.ts'
import { describeLedger } from '../../records/read/export.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams, noMembers } from '../schemas/common.ts'
import {
  createLedgerBody,
  ledgerDetails,
  ledgerPage,
  ledgerSummary,
  ledgersCursor,
  ledgersQuery,
  newKey,
  newLedger,
  reissueKeyBody,
} from '../schemas/ledgers.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function ledgerRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/ledgers',
    {
      config: { access: 'operator', problems: ['invalid_idempotency_key'] },
      schema: {
        summary: 'Create a ledger, with its first agent and a key with every scope',
        body: createLedgerBody,
        response: { 201: newLedger },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { name, agent } = request.body
      const ledger = await createLedger(deps, { name, agentName: agent ?? 'administrator' })
      return reply.code(201).header('cache-control', 'no-store').send(ledger)
    },
  )

  typed.get(
    '/v1/ledgers',
    {
      config: { reads: 'primary', access: 'operator' },
      schema: {
        summary: 'List ledgers, oldest first',
        querystring: ledgersQuery,
        response: { 200: ledgerPage },
      },
    },
    async (request) => {
      const limit = pageLimit(request.query)
      const list = listTag(request)
      const cursor = parseCursor(list, request.query, ledgersCursor)
      const after = cursor && parseId('led', cursor[0])
      const rows = await listLedgerSummaries(deps.readPool, { after, limit: limit + 1 })
      return toPage(list, rows, limit, render, ({ id }) => [id])
    },
  )

  typed.get(
    '/v1/ledgers/:id',
    {
      config: { reads: 'primary', access: 'operator' },
      schema: { summary: 'Get a ledger', params: idParams, response: { 200: ledgerSummary } },
    },
    async (request) => render(await getLedgerSummary(deps, pathId('led', request.params.id))),
  )

  for (const [action, frozen] of [
    ['freeze', true],
    ['unfreeze', false],
  ] as const) {
    typed.post(
      `/v1/ledgers/:id/${action}`,
      {
        config: { access: 'operator', problems: ['ledger_closed', 'invalid_idempotency_key'] },
        schema: {
          summary: frozen
            ? 'Freeze a ledger: it accepts no entries, and can still be read'
            : 'Unfreeze a ledger',
          params: idParams,
          body: noMembers,
          response: { 200: ledgerSummary },
        },
      },
      async (request) => {
        refuseIdempotencyKey(request)
        return render(await setFrozen(deps, pathId('led', request.params.id), frozen))
      },
    )
  }

  typed.post(
    '/v1/ledgers/:id/keys',
    {
      config: { access: 'operator', problems: ['agent_disabled', 'invalid_idempotency_key'] },
      schema: {
        summary: 'Create a key with every scope, for a ledger whose keys are lost',
        params: idParams,
        body: reissueKeyBody,
        response: { 201: newKey },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { name, agent } = request.body
      const key = await reissueKey(deps, pathId('led', request.params.id), {
        name: name ?? 'reissued key',
        agentName: agent ?? 'administrator',
      })
      return reply.code(201).header('cache-control', 'no-store').send(key)
    },
  )

  typed.get(
    '/v1/ledger',
    {
      config: { reads: 'primary', access: { scope: ['audit:read', 'records:read', 'records:write'] } },
      schema: { summary: 'Get the ledger of the key', response: { 200: ledgerDetails } },
    },
    async (request) => {
      const { ledgerId, keyId } = request.caller
      const [about, { size, closed }, key] = await Promise.all([
        describeLedger(deps.readPool, ledgerId),
        getLedgerSummary(deps, ledgerId),
        findKey(deps.readPool, ledgerId, keyId),
      ])
      return { ...about, size, closed, key: renderOwnKey(request.caller, key!) } // The key exists, because keys are never deleted.
    },
  )
}

function renderOwnKey({ key, agent, expiresAtMs }: Caller, { name, scopes }: KeyRow) {
  const expiresAt = expiresAtMs === null ? null : new Date(expiresAtMs).toISOString()
  return { id: key, name, agent, scopes, expiresAt }
}

function render({ ledgerId, ...summary }: LedgerSummaryRow) {
  return { id: formatId('led', ledgerId), ...summary }
}
