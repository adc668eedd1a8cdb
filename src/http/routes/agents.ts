import type { FastifyInstance } from 'fastify'
import { type AgentRow, findAgent, findAgentByName, listAgents } from '../../db/ledgers/agents.ts'
import { ApiError } from '../../errors.ts'
import { disableAgent, registerAgent } from '../../ledgers/agents.ts'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import { formatId, parseId } from '../../proof/ids.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { idempotencyOf, markReplayed } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import type { ReadSources } from '../reads/replica-connections.ts'
import { agentAnswer, agentPage, agentsCursor, agentsQuery, registerAgentBody } from '../schemas/agents.ts'
import { idParams, noMembers } from '../schemas/common.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function agentRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const manage = { scope: scopeOfEntry('agent-registered') } as const
  const read = { scope: ['agents:manage', 'keys:manage', 'audit:read', 'records:read'] } as const

  typed.post(
    '/v1/agents',
    {
      config: {
        access: manage,
        problems: ['name_taken', 'idempotency_key_reused'],
      },
      schema: { summary: 'Register an agent', body: registerAgentBody, response: { 201: agentAnswer } },
    },
    async (request, reply) => {
      const { agent, replayed } = await registerAgent(
        deps,
        request.caller,
        request.body.name,
        idempotencyOf(deps, request),
      )
      return markReplayed(reply, replayed).code(201).send(render(agent))
    },
  )

  typed.get(
    '/v1/agents',
    {
      config: { reads: 'replica', access: read },
      schema: {
        summary: 'List agents, oldest first',
        querystring: agentsQuery,
        response: { 200: agentPage },
      },
    },
    async (request, reply) => {
      const { query } = request
      const { ledgerId } = request.caller
      const { name } = query
      if (name !== undefined) {
        const find = (from: ReadSources) => findAgentByName(from.readPool, ledgerId, name)
        const agent = await deps.reads.of(request, reply, find)
        return { data: agent ? [render(agent)] : [], nextCursor: null }
      }
      const limit = pageLimit(query)
      const list = listTag(request)
      const cursor = parseCursor(list, query, agentsCursor)
      const after = cursor && parseId('agt', cursor[0])
      const rows = await deps.reads.of(request, reply, ({ readPool }) =>
        listAgents(readPool, ledgerId, { after, limit: limit + 1 }),
      )
      return toPage(list, rows, limit, render, ({ id }) => [id])
    },
  )

  typed.get(
    '/v1/agents/:id',
    {
      config: { reads: 'replica', access: read },
      schema: { summary: 'Get an agent', params: idParams, response: { 200: agentAnswer } },
    },
    (request, reply) =>
      deps.reads.of(request, reply, async ({ readPool }) => {
        const agent = await findAgent(readPool, request.caller.ledgerId, pathId('agt', request.params.id))
        if (!agent) throw new ApiError('not_found', `the ledger has no agent ${request.params.id}`)
        return render(agent)
      }),
  )

  typed.post(
    '/v1/agents/:id/disable',
    {
      config: {
        access: manage,
        problems: ['already_ended', 'idempotency_key_reused'],
      },
      schema: {
        summary: 'Disable an agent and its keys, for good',
        params: idParams,
        body: noMembers,
        response: { 200: agentAnswer },
      },
    },
    async (request, reply) => {
      const agentId = pathId('agt', request.params.id)
      const { agent, replayed } = await disableAgent(
        deps,
        request.caller,
        agentId,
        idempotencyOf(deps, request),
      )
      return markReplayed(reply, replayed).send(render(agent))
    },
  )
}

function render(agent: AgentRow) {
  return {
    id: formatId('agt', agent.agentId),
    name: agent.name,
    registeredAt: agent.registeredAt.toISOString(),
    disabledAt: agent.disabledAt?.toISOString() ?? null,
  }
}
