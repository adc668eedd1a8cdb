import type { McpServer, ToolAnnotations } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import type { StepOptions } from '../../sdk/http/transport.ts'
import { isTraceparent } from '../proof/statement/fields.ts'
import { explain, toError, toResult } from './answers.ts'
import { lenientSchema, noteOf } from './arguments.ts'
import type { McpDeps } from './deps.ts'

export type Tool = {
  readonly name: string
  readonly title: string
  readonly description: string
  /** The key needs at least one of these scopes. */
  readonly scopes: readonly string[]
  readonly hints: ToolAnnotations
  readonly input: z.ZodObject
  /**
   * Members that the REST API has but the tool does not have. They are refused. If they were ignored, the record would
   * differ from what the caller wanted.
   */
  readonly unsupported?: readonly string[]
  readonly output: z.ZodObject
  run(deps: McpDeps, args: never, options: StepOptions): Promise<object>
}

/** Arguments that become options of the request and not members of its body. */
type Options = Pick<StepOptions, 'idempotencyKey' | 'ifVersion'>

/** Defines a tool whose arguments have the types of its schema. */
export function defineTool<Input extends z.ZodObject>(
  tool: Omit<Tool, 'input' | 'run'> & {
    readonly input: Input
    run(deps: McpDeps, args: Omit<z.output<Input>, keyof Options>, options: StepOptions): Promise<object>
  },
): Tool {
  return tool as unknown as Tool
}

/** Hints of tools that change nothing and use nothing outside the ledger. */
export const READS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false } as const

export function isAllowed({ scopes }: Tool, { key }: McpDeps): boolean {
  return key === null || scopes.some((scope) => key.scopes.includes(scope))
}

/**
 * Registers a tool. If the key may not use the tool, the tool is not listed, and a call is answered with the error that
 * the tool is disabled.
 */
export function registerTool(server: McpServer, deps: McpDeps, tool: Tool): void {
  const { name, title, description, hints, input, unsupported, output, run } = tool
  const about = {
    title,
    description,
    inputSchema: lenientSchema(input, unsupported),
    outputSchema: output,
    annotations: { title, ...hints },
  }
  const registered = server.registerTool(name, about, async ({ values, ignored }, context) => {
    const { idempotencyKey, ifVersion, ...rest } = values as Options
    const note = noteOf(name, input, ignored)
    const { signal, _meta } = context.mcpReq
    const options = { signal, idempotencyKey, ifVersion, traceparent: traceparentOf(_meta, deps) }
    try {
      return toResult(await run(deps, rest as never, options), note)
    } catch (error) {
      // The client has cancelled the call, so nobody reads the answer.
      if (signal.aborted) return toError('cancelled')
      return toError(explain(error, deps.report), note)
    }
  })
  if (!isAllowed(tool, deps)) registered.disable()
}

/** Returns the traceparent of the call (SEP-414), or else the traceparent of the HTTP request. */
function traceparentOf(
  meta: Readonly<Record<string, unknown>> | undefined,
  deps: McpDeps,
): string | undefined {
  const traceparent = meta?.['traceparent']
  return typeof traceparent === 'string' && isTraceparent(traceparent) ? traceparent : deps.traceparent
}
