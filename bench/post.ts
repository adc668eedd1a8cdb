import type { Target } from './load-connection.ts'

const REFUSED_PAUSE_MS = 200

/**
 * Sends a body as JSON, and answers what came. What is refused because it is more than the server can write is sent again; any
 * other answer that is no 2xx is thrown.
 */
export async function post(
  target: Target,
  bearer: string,
  path: string,
  body: object,
  headers: Record<string, string> = {},
  // biome-ignore lint/suspicious/noExplicitAny: answers of our own server
): Promise<any> {
  const answer = await fetch(`http://${target.host}:${target.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (answer.status === 503) {
    await new Promise((resolve) => setTimeout(resolve, REFUSED_PAUSE_MS))
    return post(target, bearer, path, body, headers)
  }
  if (!answer.ok) throw new Error(`POST ${path} answered ${answer.status}: ${text}`)
  return JSON.parse(text)
}
