/* The transactions of the ledger, and what happens to it. */

/* Whoever frees rows closes their open attempts in the same transaction. */
inline closeOpenAttempts(f) {
#ifndef FREE_KEEPS_ATTEMPTS
  if :: att[FIRST(f)] == A_OPEN -> att[FIRST(f)] = A_UNSENT :: else fi;
  if :: att[FIRST(f) + 1] == A_OPEN -> att[FIRST(f) + 1] = A_UNSENT :: else fi
#else
  skip
#endif
}

inline freeRows(f) { row[f] = R_FREED; closeOpenAttempts(f) }

/* Rows of the other filing that map the same and are not sent yet: it learns when it opens its next attempt. */
inline stopSameMapping(f) {
#ifndef SAME_MAPPING_GOES_ON
  if :: row[1 - f] == R_PLANNED -> freeRows(1 - f) :: else fi
#else
  skip
#endif
}

/* The attempt turned out not to be sent: its rows are to be sent again. */
inline unsubmit(f) {
  if
  :: row[f] == R_SUBMITTED && !ONE_MARKED(f) && !ONE_ACCEPTED(f) -> row[f] = R_PLANNED
  :: else
  fi
}

/*
 * An acceptance is a fact: recorded whatever the attempt's state. It closes another open attempt. Where nobody expected it any more,
 * its rows are at the service all the same: live again, and nobody else's of the same mapping are sent.
 */
inline recordAcceptance(a) {
  if
  :: att[a] == A_REJECTED          /* what came of it is recorded since */
  :: else -> acceptNow(a)
  fi
}

inline acceptNow(a) {
  if
  :: att[a] != A_MARKED && att[a] != A_ACCEPTED || row[OF(a)] == R_FREED ->
     stopSameMapping(OF(a));
     if
#ifndef ACCEPTANCE_KEEPS_PLANNED
     :: row[OF(a)] == R_PLANNED -> row[OF(a)] = R_SUBMITTED
#endif
#ifndef ACCEPTANCE_LEAVES_ROWS_FREED
     :: row[OF(a)] == R_FREED -> row[OF(a)] = (ENDED(OF(a)) -> R_ABANDONED : R_SUBMITTED)
#endif
     :: else
     fi
  :: else
  fi;
  att[a] = A_ACCEPTED; named[a] = 0;
#ifndef LATE_ANSWER_KEEPS_OTHER
  if :: att[OTHER(a)] == A_OPEN -> att[OTHER(a)] = A_UNSENT :: else fi;
#endif
  if
  :: fst[OF(a)] == F_CHECKING -> move(OF(a), F_SUBMITTING); move(OF(a), F_PROCESSING)
  :: fst[OF(a)] == F_SUBMITTING || fst[OF(a)] == F_UNKNOWN -> move(OF(a), F_PROCESSING)
  :: else
  fi
}

/* Rows that turn out to be at the service: live again, and nobody else's of the same mapping are sent. */
inline holdAsSent(f) {
  stopSameMapping(f);
  if
  :: row[f] == R_NONE || row[f] == R_PLANNED -> row[f] = R_SUBMITTED
  :: row[f] == R_FREED -> row[f] = (ENDED(f) -> R_ABANDONED : R_SUBMITTED)
  :: else
  fi
}

/*
 * A run hands in the answer to attempt a. s: the execution + 1 that the service told it. A ledger that has lost that
 * send cannot know who sent: the request counts as one that a person named.
 */
inline handIn(a, s) {
  if
  :: SETTLED(OF(a)) || att[a] == A_ACCEPTED
  :: else ->
     if
     :: ANY_NUMBER(IS_SEND, s) -> recordAcceptance(a)
     :: !(ANY_NUMBER(IS_SEND, s)) && snd[a] == 0 -> handInNamed(a)
     :: else          /* whoever sent it, it was not who says so */
     fi
  fi
}

/* An attempt that the ledger does not hold, or holds as absent, is in doubt then. Rows that were freed are held again. */
inline handInNamed(a) {
  if
  :: att[a] == A_NONE || att[a] == A_ABSENT || row[OF(a)] == R_FREED ->
     if :: att[OTHER(a)] == A_OPEN -> att[OTHER(a)] = A_UNSENT :: else fi;
     if :: att[a] == A_NONE || att[a] == A_ABSENT -> att[a] = A_MARKED; armed[a] = 0 :: else fi;
     holdAsSent(OF(a))
  :: else
  fi;
  named[a] = 1;
  if :: row[OF(a)] == R_PLANNED -> row[OF(a)] = R_SUBMITTED :: else fi;
  if
  :: ENDED(OF(a))
  :: else ->
     if :: fst[OF(a)] == F_CHECKING -> move(OF(a), F_SUBMITTING) :: else fi;
     move(OF(a), F_PROCESSING)
  fi
}

/* A run opens the submission's next attempt, or finds the one that stands. */
inline openAttempt(f) {
  if
  :: NONE_UNDER_WAY(f) && NONE_NAMED(f) && (fst[f] == F_CHECKING || fst[f] == F_SUBMITTING) ->
     if
     :: row[f] == R_PLANNED && HOLDS(f) && HAS_NEXT(f) && !WAITS_FOR_CERTIFICATES(f) && !(CERTIFICATE_OF_ABSENT) ->
        j = NEXT(f);
#ifdef RESTORE_BOTH
        if
        :: j == FIRST(f) && CERTIFIED_IN_LOST_TIME -> att[j] = A_MARKED; row[f] = R_SUBMITTED   /* by a sender that is not known */
        :: else -> att[j] = A_OPEN
        fi;
#else
        att[j] = A_OPEN;
#endif
        j = 0; move(f, F_SUBMITTING)
     :: row[f] == R_PLANNED && !HOLDS(f) || row[f] == R_FREED -> freeRows(f); move(f, F_NEEDS_CORRECTION)
     :: else
     fi
  :: else
  fi
}

/* A run reads what became of attempt a, and closes it where it was never marked. */
inline readAttempt(a) {
  if
  :: ENDED(OF(a))
  :: else ->
     if
#ifdef UNCONDITIONAL_CLOSE
     :: att[a] == A_OPEN || att[a] == A_MARKED -> att[a] = A_UNSENT; unsubmit(OF(a))
#else
     :: att[a] == A_OPEN -> att[a] = A_UNSENT; unsubmit(OF(a))
#endif
     :: att[a] == A_NONE && fst[OF(a)] != F_NONE && (a == FIRST(OF(a)) || att[OTHER(a)] != A_NONE) && !(UNDER_WAY(OTHER(a))) ->
        /* an attempt that the ledger does not hold is unknown, unless its rows have been stopped */
        if :: row[OF(a)] != R_FREED -> att[a] = A_MARKED :: else fi;
        if :: row[OF(a)] == R_PLANNED -> row[OF(a)] = R_SUBMITTED :: else fi;
        if :: fst[OF(a)] == F_CHECKING -> move(OF(a), F_SUBMITTING) :: else fi;
        move(OF(a), F_UNKNOWN)
     :: att[a] == A_MARKED && PROVEN_UNSENT(a) -> att[a] = A_UNSENT; unsubmit(OF(a)); notSentAfterAll(a)
     :: att[a] == A_MARKED && !PROVEN_UNSENT(a) && att[OTHER(a)] != A_ACCEPTED && NONE_NAMED(OF(a)) && fst[OF(a)] != F_UNKNOWN -> WAIT_LATE(a); move(OF(a), F_UNKNOWN)
     :: att[a] == A_REFUSED && LATEST(OF(a)) == a && !(UNDER_WAY(OTHER(a))) -> refuseSubmission(a)
     :: att[a] == A_REFUSED || att[a] == A_UNSENT || att[a] == A_ABSENT -> notSentAfterAll(a)   /* a refusal that lets it go again, too */
     :: (att[a] == A_ACCEPTED || att[a] == A_MARKED && !PROVEN_UNSENT(a) && att[OTHER(a)] == A_ACCEPTED) &&
        (fst[OF(a)] == F_SUBMITTING || fst[OF(a)] == F_UNKNOWN) -> move(OF(a), F_PROCESSING)   /* the submission was answered */
     :: else
     fi
  fi
}

/*
 * A refusal that ends the submission frees its rows; not where an earlier attempt was judged absent: perhaps it was filed, and
 * that is in doubt again.
 */
inline refuseSubmission(a) {
  if
#ifndef REFUSED_FREES_ALL
  :: att[OTHER(a)] == A_ABSENT ->
     att[OTHER(a)] = A_MARKED; armed[OTHER(a)] = 0;
     if :: row[OF(a)] == R_PLANNED -> row[OF(a)] = R_SUBMITTED :: else fi;
     move(OF(a), F_UNKNOWN)
#endif
  :: else -> freeRows(OF(a)); move(OF(a), F_NEEDS_CORRECTION)
  fi
}

/* Attempt a is not sent after all, and no other one is in doubt: the filing goes on. */
inline notSentAfterAll(a) {
  if :: fst[OF(a)] == F_UNKNOWN && att[OTHER(a)] != A_MARKED && att[OTHER(a)] != A_ACCEPTED -> move(OF(a), F_SUBMITTING) :: else fi
}

/* A person says that attempt a, as marked by s, was not filed. */
#if defined(RESOLVE_UNNAMED) || defined(RESOLVE_NAMES_NO_MARK)
#define SAME_MARK(a, s) true
#else
#define SAME_MARK(a, s) (snd[a] == s)
#endif
inline notFiled(a, s) {
#ifdef RESOLVE_UNNAMED
  j = LATEST(OF(a));
#else
  j = a;
#endif
  if
  :: att[j] == A_MARKED && (fst[OF(a)] == F_UNKNOWN || ABANDONED_SENT(OF(a))) && ACCEPTED_OVER(OTHER(j)) && NONE_NAMED(OF(j)) && SAME_MARK(j, s) ->
     att[j] = A_ABSENT;
     if
     :: !ENDED(OF(a)) && att[OTHER(j)] == A_ACCEPTED -> rejectWhenOver(OF(a))   /* its request has ended already */
     :: (ENDED(OF(a)) || att[OTHER(j)] == A_REFUSED && OTHER(j) > j) && !(MAYBE_FILED(OTHER(j))) ->   /* it does not go again */
        freeRows(OF(a));
        if :: !ENDED(OF(a)) -> move(OF(a), F_NEEDS_CORRECTION) :: else fi
     :: else -> unsubmit(OF(a)); notSentAfterAll(j)
     fi
#ifdef RESOLVE_UNCONDITIONAL
  :: att[j] != A_MARKED && att[j] != A_NONE && att[j] != A_ACCEPTED -> att[j] = A_UNSENT;
     if :: row[OF(a)] == R_SUBMITTED -> row[OF(a)] = R_PLANNED :: else fi
#endif
  :: else
  fi
}

/* A person abandons the filing. What was sent stays live. */
inline abandonFiling(f) {
  if
  :: fst[f] == F_NONE || ENDED(f)
  :: else ->
     if
     :: row[f] == R_PLANNED -> freeRows(f)
     :: row[f] == R_SUBMITTED -> row[f] = R_ABANDONED; closeOpenAttempts(f)
     :: else
     fi;
     move(f, F_ABANDONED)
  fi
}

/* The authority has processed the request of attempt a. */
inline settle(a) {
  if
  :: ENDED(OF(a)) || fst[OF(a)] == F_NONE
  :: else ->
     if
     :: ANY(SEEN_OF, a) ->
        if :: att[a] != A_MARKED -> recordAcceptance(a) :: else fi;   /* by details alone the attempt stays as it is */
        row[OF(a)] = R_CERTIFIED; move(OF(a), F_COLLECTING); move(OF(a), F_CERTIFIED)
     :: att[a] == A_ACCEPTED && ANY(ERRORED_OF, a) -> over[a] = 1; rejectWhenOver(OF(a))
     :: att[a] != A_ACCEPTED && named[a] && ANY(ERRORED_OF, a) ->
        named[a] = 0;                                    /* a person named it: that proves nothing */
        if :: fst[OF(a)] == F_PROCESSING -> move(OF(a), (ONE_MARKED(OF(a)) -> F_UNKNOWN : F_SUBMITTING)) :: else fi
     :: else
     fi
  fi
}

/* A person says under which request attempt a was filed: it is followed. */
inline nameRequest(a) {
  named[a] = 1;
  move(OF(a), F_PROCESSING)
}

/* Rows are rejected when every request of the submission has ended and no attempt is in doubt. */
inline rejectWhenOver(f) {
  if
#ifndef ERRORED_FREES_ALL
  :: ONE_MARKED(f) -> move(f, F_UNKNOWN)
  :: !ONE_MARKED(f) && ONE_FOLLOWED(f)     /* goes on with the other one */
  :: else
#else
  :: true
#endif
     -> freeRows(f);
        if :: att[FIRST(f)] == A_ACCEPTED -> att[FIRST(f)] = A_REJECTED; over[FIRST(f)] = 0 :: else fi;
        if :: att[FIRST(f) + 1] == A_ACCEPTED -> att[FIRST(f) + 1] = A_REJECTED; over[FIRST(f) + 1] = 0 :: else fi;
        move(f, F_REJECTED)
  fi
}

/* ---- Restoring the ledger -------------------------------------------------------------------------------------- */

#if RESTORES > 0
inline copyLedger() {
#if PERMITTED > 0
    oBeside = beside;
#endif
    for (i : 0 .. FILINGS - 1) { oFst[i] = fst[i]; oRow[i] = row[i] }
    for (i : 0 .. ATTEMPTS - 1) { oAtt[i] = att[i]; oOver[i] = over[i]; oNamed[i] = named[i]; oSnd[i] = snd[i]; oArmed[i] = armed[i] }
    for (i : 1 .. NE) { oSends[i] = sends[i] }
#ifdef RESTORE_BOTH
    for (i : 1 .. NE) { oFile[i] = file[i] }
#endif
    i = 0
}

inline putBack() {
#if PERMITTED > 0
    beside = oBeside; oBeside = 0;
#endif
    for (i : 0 .. FILINGS - 1) { fst[i] = oFst[i]; row[i] = oRow[i]; oFst[i] = 0; oRow[i] = 0 }
    for (i : 0 .. ATTEMPTS - 1) { att[i] = oAtt[i]; over[i] = oOver[i]; oOver[i] = 0; named[i] = oNamed[i]; oNamed[i] = 0; snd[i] = oSnd[i]; oAtt[i] = 0; oSnd[i] = 0; armed[i] = oArmed[i]; oArmed[i] = 0 }
    for (i : 1 .. NE) { sends[i] = oSends[i]; oSends[i] = 0 }
#ifdef RESTORE_BOTH
    for (i : 1 .. NE) { file[i] = oFile[i]; oFile[i] = 0 }
    for (i : 0 .. NE - 1) { if :: ex[i] != X_FREE -> ex[i] = X_DONE; seen[i] = 0; late[i] = 0 :: else fi }   /* workers were stopped */
#endif
    i = 0
}
#endif

/*
 * A copy is only of use once the ledger has moved on from it, so it is taken right before a transaction that changes the
 * ledger: every earlier state of the ledger can be put back, with fewer states to visit.
 */
inline keepCopy() {
#if RESTORES > 0 && !defined(RESTORE_BOTH)
  if
  :: copied == 0 -> copyLedger(); copied = 1; printf("@ postgres | copy of the ledger\n"); SHOW
  :: true
  fi
#else
  skip
#endif
}

/* `ebrc ledger restored`, or the worker after a failover: what the files know and the ledger does not. */
inline importFiles() {
  i = 1;
  do
  :: i <= NE ->
     if
     :: file[i] != 0 && file[i] != VOID && file[i] != sends[i] -> importFile(i)
     :: else
     fi;
     i++
  :: else -> break
  od;
#ifndef IMPORT_KEEPS_MARKS
  i = 0; do :: i < ATTEMPTS -> armed[i] = 0; i++ :: else -> break od;
#endif
#ifndef IMPORT_LEAVES_GAPS
  fillGaps();
#endif
  i = 0; j = 0
}

inline importFile(n) {
  if
  :: sends[n] != 0 && sends[n] != VOID ->
     /* its number is another's: it can never create its file */
     j = xa[sends[n] - 1]; sends[n] = 0;
     if :: att[j] == A_MARKED && NO_SENDS(j) -> att[j] = A_UNSENT; unsubmit(OF(j)) :: else fi
  :: else
  fi;
  sends[n] = file[n];
  j = xa[file[n] - 1];
  if :: att[OTHER(j)] == A_OPEN -> att[OTHER(j)] = A_UNSENT :: else fi;
#ifdef IMPORT_CLOSES_EARLIER
  if :: j != FIRST(OF(j)) && att[OTHER(j)] == A_MARKED -> att[OTHER(j)] = A_UNSENT :: else fi;
#endif
  if
  :: att[j] == A_ACCEPTED || att[j] == A_REJECTED     /* its answer came meanwhile */
  :: else -> att[j] = A_MARKED; snd[j] = file[n]; armed[j] = 0;
#ifdef IMPORT_LEAVES_ROWS_FOLLOWED
     if :: !(ONE_FOLLOWED(OF(j))) -> holdAsSent(OF(j)) :: else fi
#else
     holdAsSent(OF(j))
#endif
  fi;
  if
  :: ENDED(OF(j)) || SETTLED(OF(j)) || ONE_FOLLOWED(OF(j))     /* a request decides, or has decided */
  :: else ->
     if :: fst[OF(j)] == F_NONE -> fst[OF(j)] = F_SUBMITTING :: fst[OF(j)] == F_CHECKING -> move(OF(j), F_SUBMITTING) :: else fi;
     move(OF(j), F_UNKNOWN)
  fi
}

/* Numbers without a file are given up: whoever took one, in this state of the ledger or in the lost one, writes nothing. */
inline fillGaps() {
  i = NE; do :: i > 0 && file[i] == 0 && sends[i] == 0 -> i-- :: else -> break od;
  do
  :: i > 0 ->
     if
     :: file[i] == 0 ->
        file[i] = VOID;
        if
        :: sends[i] == 0 -> sends[i] = VOID
        :: sends[i] != 0 && sends[i] != VOID ->
           j = xa[sends[i] - 1];
           if :: att[j] == A_MARKED && snd[j] == sends[i] && ONLY_SEND(j, sends[i]) -> att[j] = A_UNSENT; unsubmit(OF(j)) :: else fi
        :: else
        fi
     :: else
     fi;
     i--
  :: else -> break
  od
}

#ifdef RESTORE_BOTH
/* `ebrc ledger restored --documents restored`: what was open or planned may have been sent since the copy. */
inline documentsRestored() {
#ifndef NO_DOCUMENTS_RESTORED
  hold = 1;
  i = 0;
  do
  :: i < FILINGS ->
     if
     :: !ENDED(i) && row[i] == R_PLANNED ->
        j = LATEST(i);
        if :: NOT_FILED(j) && j < LASTA(i) -> j = j + 1 :: else fi;
        att[j] = A_MARKED; snd[j] = 0; row[i] = R_SUBMITTED;
        if :: fst[i] == F_CHECKING -> move(i, F_SUBMITTING) :: else fi;
        move(i, F_UNKNOWN)
     :: else
     fi; i++
  :: else -> break
  od;
  /* a mark whose file is missing proves nothing: the file may be younger than the copy */
  i = 0;
  do
  :: i < ATTEMPTS -> if :: att[i] == A_MARKED -> snd[i] = 0; armed[i] = 0 :: else fi; i++
  :: else -> break
  od;
  i = 0; j = 0
#else
  skip
#endif
}
#endif

/* For random traces: a run that gives up at any time seldom sees an answer. */
#ifdef PATIENT
#define PATIENCE && ex[re[f] - 1] >= X_DONE_ANSWER
#define CALM true
#else
#define CALM false
#define PATIENCE
#endif
