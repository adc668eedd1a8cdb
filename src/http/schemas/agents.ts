import { z } from 'zod'
import { pageOf, pageQuery } from '../answers/page.ts'
import { idOf, instant } from './common.ts'
import { name } from './names.ts'

export const registerAgentBody = z.strictObject({ name })

export const agentsQuery = z.strictObject({
  ...pageQuery,
  name: name.describe('the agent with exactly this name').optional(),
})

export const agentsCursor = z.tuple([idOf('agt')])

export const agentAnswer = z
  .strictObject({
    id: idOf('agt'),
    name: z.string(),
    registeredAt: instant,
    disabledAt: instant.nullable(),
  })
  .meta({ id: 'Agent' })

export const agentPage = pageOf(agentAnswer)
