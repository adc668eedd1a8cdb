import { join } from 'node:path'
import { LAG_BYTES_MAX, LEADER_TTL_SECONDS, LOOP_WAIT_SECONDS, RETRY_TIMEOUT_SECONDS } from './limits.ts'

/** With `quorum` a commit waits for one of two standbys, and Patroni promotes only a standby that has all commits. */
export type Replication = 'quorum' | 'asynchronous'

type Ports = { readonly postgres: number; readonly rest: number }
export type MemberPlace = Ports & { readonly name: string; readonly dir: string }

/**
 * Returns the configuration of one member as docs/operate/postgres.md#patroni recommends it, with two exceptions:
 * times are shorter, and the log does not wait for a disk.
 */
export function patroniConfig(
  { name, dir, postgres, rest }: MemberPlace,
  /** Ports of the proxies through which this member reaches etcd, and through which other members reach this member. */
  through: Ports & { readonly etcd: number },
  options: { readonly binDir: string; readonly password: string; readonly replication: Replication },
) {
  const login = (username: string) => ({ username, password: options.password })
  return {
    scope: 'tallystick',
    name,
    restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${through.rest}` },
    etcd3: { hosts: [`127.0.0.1:${through.etcd}`], use_proxies: true },
    bootstrap: {
      dcs: {
        ttl: LEADER_TTL_SECONDS,
        loop_wait: LOOP_WAIT_SECONDS,
        retry_timeout: RETRY_TIMEOUT_SECONDS,
        maximum_lag_on_failover: LAG_BYTES_MAX,
        // With 0, a failover does not wait for a crashed primary to restart.
        primary_start_timeout: 0,
        ...(options.replication === 'quorum' && {
          synchronous_mode: 'quorum',
          synchronous_mode_strict: true,
        }),
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 150, max_wal_senders: 8 } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
    },
    postgresql: {
      listen: `127.0.0.1:${postgres}`,
      connect_address: `127.0.0.1:${through.postgres}`,
      bin_dir: options.binDir,
      data_dir: join(dir, 'data'),
      pgpass: join(dir, 'pgpass'),
      remove_data_directory_on_rewind_failure: true,
      remove_data_directory_on_diverged_timelines: true,
      authentication: {
        superuser: login('postgres'),
        replication: login('replicator'),
        rewind: login('rewinder'),
      },
      pg_hba: [
        'host all all 127.0.0.1/32 scram-sha-256',
        'host replication replicator 127.0.0.1/32 scram-sha-256',
      ],
      parameters: {
        unix_socket_directories: dir,
        shared_buffers: '64MB',
        wal_receiver_timeout: '5s',
        wal_sender_timeout: '5s',
        wal_keep_size: '256MB',
      },
    },
  }
}

/**
 * Returns HAProxy's configuration: one address that routes to the primary. A session ends when its member is no longer
 * the primary. Without `retries 0` a connection waits 3 s for a member that is gone. This delayed records in every
 * second failover.
 */
export function balancerConfig(port: number, members: readonly MemberPlace[]): string {
  const servers = members.map(
    ({ name, postgres, rest }) => `  server ${name} 127.0.0.1:${postgres} check port ${rest}`,
  )
  return `defaults
  mode tcp
  timeout connect 1s
  retries 0
  timeout client 1h
  timeout server 1h
  timeout check 1s

listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`
}
