// A conversation: its head, what was said, and where to say something.

import { useEffect, useMemo, useState } from "preact/hooks";
import { Conversation } from "../state/conversation";
import { phase } from "../state/gateway";
import type { Item } from "../state/items";
import { markSeen } from "../state/kept";
import { Composer } from "./Composer";
import { Head } from "./Head";
import { ItemView } from "./ItemView";
import { Welcome } from "./Welcome";
import { VirtualList } from "./VirtualList";
import { saysWhy, useWhy } from "./why";

export function ChatPage({ session, target }: { session: string; target?: string | undefined }) {
  const talk = useMemo(() => new Conversation(session), [session]);
  useEffect(() => () => talk.close(), [talk]);
  const [reached, setReached] = useState<string | undefined>();
  useEffect(() => {
    if (target && talk.ready.value) void talk.reach(target).then((there) => there && setReached(target), () => undefined);
  }, [target, talk.ready.value]);
  const info = talk.info.value;
  useEffect(() => {
    if (info && document.visibilityState === "visible") markSeen(info);
  }, [info?.updatedAt]);
  const untold = talk.ready.value && !talk.busy.value && !saysWhy(talk.said.value);
  const why = useWhy(untold ? info : null);
  const ended: Item[] = why ? [{ kind: "note", id: "why", question: "", answer: why, why, after: null }] : [];
  const items = [...talk.items.value, ...ended];
  const isNew = talk.ready.value && items.length === 0 && !talk.hasMore.value;
  return (
    <div class="chat">
      <Head talk={talk} />
      {talk.problem.value && (
        <p class="problem pad" role="alert">
          {talk.problem.value}
        </p>
      )}
      {isNew ? (
        <Welcome talk={talk} />
      ) : (
        <VirtualList
          items={items}
          label="Conversation"
          target={reached}
          reachStart={() => void talk.older().catch(() => undefined)}
          render={(item: Item) => <ItemView item={item} talk={talk} found={item.id === reached} />}
        />
      )}
      <Composer talk={talk} disabled={phase.value === "refused"} />
    </div>
  );
}
