import { once } from 'node:events'
import { connect } from 'node:net'
import { endsWithTests } from '../../helpers/children.ts'
import { type Name, spawnHaproxy } from './haproxy-process.ts'

export { isHaproxyThere, type Name } from './haproxy-process.ts'

export type Haproxy = {
  readonly url: string
  readonly socket: string
  command(line: string): Promise<string>
}

/**
 * Starts the example's HAProxy in front of three servers (`http://host:port`). The process is killed after the tests.
 */
export async function startHaproxy(
  servers: Readonly<Record<Name, string>>,
  map: Readonly<Record<string, Name>> = {},
  free?: string,
): Promise<Haproxy> {
  const { url, socket } = await spawnHaproxy(servers, map, free, endsWithTests)
  return { url, socket, command: (line) => tell(socket, `${line}\n`) }
}

async function tell(socket: string, text: string): Promise<string> {
  const connection = connect(socket)
  let answer = ''
  connection.setEncoding('utf8').on('data', (part: string) => {
    answer += part
  })
  connection.write(text)
  await once(connection, 'end')
  return answer
}
