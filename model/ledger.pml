/* The transactions of the ledger, and what happens to it. */

/* Whoever frees rows closes their open attempts in the same transaction. */
inline closeOpenAttempts(f) {
#ifndef FREE_KEEPS_ATTEMPTS
  if :: att[FIRST(f)] == A_OPEN -> att[FIRST(f)] = A_NOT_SENT :: else fi;
  if :: att[FIRST(f) + 1] == A_OPEN -> att[FIRST(f) + 1] = A_NOT_SENT :: else fi
#else
  skip
#endif
}

inline freeRows(f) { row[f] = R_FREED; closeOpenAttempts(f) }

/* The attempt turned out not to be sent: its rows are to be sent again. */
inline unsubmit(f) {
  if
  :: row[f] == R_SUBMITTED && att[FIRST(f)] != A_SENDING && att[FIRST(f) + 1] != A_SENDING &&
     att[FIRST(f)] != A_ACCEPTED && att[FIRST(f) + 1] != A_ACCEPTED -> row[f] = R_PLANNED
  :: else
  fi
}

/* An acceptance is a fact: recorded whatever the attempt's state. It closes an open sister. */
inline recordAcceptance(a) {
  att[a] = A_ACCEPTED;
#ifndef LATE_ANSWER_KEEPS_SISTER
  if :: att[SISTER(a)] == A_OPEN -> att[SISTER(a)] = A_NOT_SENT :: else fi;
#endif
  if
#ifdef ACCEPTANCE_KEEPS_PLANNED
  :: row[OF(a)] == R_NONE -> row[OF(a)] = R_SUBMITTED
#else
  :: row[OF(a)] == R_NONE || row[OF(a)] == R_PLANNED -> row[OF(a)] = R_SUBMITTED
#endif
#ifndef ACCEPTANCE_LEAVES_ROWS_FREED
  :: row[OF(a)] == R_FREED -> row[OF(a)] = R_ABANDONED      /* they are at the service: live again */
#endif
  :: else
  fi;
  if
  :: fst[OF(a)] == F_NONE -> fst[OF(a)] = F_PROCESSING
  :: fst[OF(a)] == F_CHECKING -> move(OF(a), F_SUBMITTING); move(OF(a), F_PROCESSING)
  :: fst[OF(a)] == F_SUBMITTING || fst[OF(a)] == F_UNKNOWN -> move(OF(a), F_PROCESSING)
  :: else
  fi
}

/* A run opens attempt a (or finds that it exists). */
inline openAttempt(a) {
  if
  :: att[a] == A_NONE && (a == FIRST(OF(a)) || att[SISTER(a)] != A_NONE) && !(UNDER_WAY(SISTER(a))) &&
     row[OF(a)] == R_PLANNED && (fst[OF(a)] == F_CHECKING || fst[OF(a)] == F_SUBMITTING) ->
     if
     :: HOLDS(OF(a)) -> att[a] = A_OPEN; snd[a] = 0; move(OF(a), F_SUBMITTING)
     :: else -> freeRows(OF(a)); move(OF(a), F_NEEDS_CORRECTION)
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
     :: att[a] == A_OPEN || att[a] == A_SENDING -> att[a] = A_NOT_SENT; unsubmit(OF(a))
#else
     :: att[a] == A_OPEN -> att[a] = A_NOT_SENT
#endif
     :: att[a] == A_NONE && fst[OF(a)] != F_NONE && (a == FIRST(OF(a)) || att[SISTER(a)] != A_NONE) && !(UNDER_WAY(SISTER(a))) ->
        /* an attempt that the ledger does not hold is unknown */
        att[a] = A_SENDING; snd[a] = 0;
        if :: row[OF(a)] == R_PLANNED -> row[OF(a)] = R_SUBMITTED :: else fi;
        if :: fst[OF(a)] == F_CHECKING -> move(OF(a), F_SUBMITTING) :: else fi;
        move(OF(a), F_UNKNOWN)
     :: att[a] == A_SENDING && snd[a] != 0 && file[xn[snd[a] - 1]] != snd[a] &&
        (file[xn[snd[a] - 1]] != 0 || VOID_MISSING) ->
        att[a] = A_NOT_SENT; unsubmit(OF(a));
        if :: fst[OF(a)] == F_UNKNOWN && !(att[SISTER(a)] == A_SENDING) -> move(OF(a), F_SUBMITTING) :: else fi
     :: att[a] == A_SENDING && (snd[a] == 0 || file[xn[snd[a] - 1]] == snd[a]) && fst[OF(a)] != F_UNKNOWN -> WAIT_LATE(a); move(OF(a), F_UNKNOWN)
     :: att[a] == A_REFUSED && LATEST(OF(a)) == a && !(UNDER_WAY(SISTER(a))) ->
        freeRows(OF(a)); move(OF(a), F_NEEDS_CORRECTION)
     :: att[a] == A_NOT_SENT && att[SISTER(a)] == A_ERRORED && (row[OF(a)] == R_PLANNED || row[OF(a)] == R_SUBMITTED) ->
        freeRows(OF(a)); move(OF(a), F_REJECTED)
     :: att[a] == A_ACCEPTED && (fst[OF(a)] == F_SUBMITTING || fst[OF(a)] == F_UNKNOWN) -> move(OF(a), F_PROCESSING)
     :: else
     fi
  fi
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
  :: att[j] == A_SENDING && fst[OF(a)] == F_UNKNOWN && SAME_MARK(j, s) -> att[j] = A_NOT_SENT; unsubmit(OF(a));
     if :: att[SISTER(j)] != A_SENDING -> move(OF(a), F_SUBMITTING) :: else fi
#ifdef RESOLVE_UNCONDITIONAL
  :: att[j] != A_SENDING && att[j] != A_NONE && att[j] != A_ACCEPTED -> att[j] = A_NOT_SENT;
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
  :: ENDED(OF(a))
  :: else ->
     if
     :: ANY(SEEN_OF, a) ->
        recordAcceptance(a); row[OF(a)] = R_CERTIFIED; move(OF(a), F_COLLECTING); move(OF(a), F_CERTIFIED)
     :: att[a] == A_ACCEPTED && ANY(ERRORED_OF, a) ->
        att[a] = A_ERRORED;
        if
#ifndef ERRORED_FREES_ALL
        :: att[SISTER(a)] == A_ACCEPTED                                /* goes on with the sister */
        :: att[SISTER(a)] == A_SENDING -> move(OF(a), F_UNKNOWN)
        :: else
#else
        :: true
#endif
           -> freeRows(OF(a)); move(OF(a), F_REJECTED)
        fi
     :: else
     fi
  fi
}

/* ---- Restoring the ledger -------------------------------------------------------------------------------------- */

#if RESTORES > 0
inline copyLedger() {
    for (i : 0 .. FILINGS - 1) { oFst[i] = fst[i]; oRow[i] = row[i] }
    for (i : 0 .. ATTEMPTS - 1) { oAtt[i] = att[i]; oSnd[i] = snd[i]; oArmed[i] = armed[i] }
    for (i : 1 .. NE) { oSends[i] = sends[i] }
#ifdef RESTORE_BOTH
    for (i : 1 .. NE) { oFile[i] = file[i] }
#endif
    i = 0
}

inline putBack() {
    for (i : 0 .. FILINGS - 1) { fst[i] = oFst[i]; row[i] = oRow[i]; oFst[i] = 0; oRow[i] = 0 }
    for (i : 0 .. ATTEMPTS - 1) { att[i] = oAtt[i]; snd[i] = oSnd[i]; oAtt[i] = 0; oSnd[i] = 0; armed[i] = oArmed[i]; oArmed[i] = 0 }
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
     :: file[i] != 0 && file[i] != VOID && file[i] != sends[i] ->
        if
        :: sends[i] != 0 && sends[i] != VOID && snd[xa[sends[i] - 1]] == sends[i] && att[xa[sends[i] - 1]] == A_SENDING ->
           /* its number is another's: it can never create its file */
           j = xa[sends[i] - 1]; att[j] = A_NOT_SENT; unsubmit(OF(j))
        :: else
        fi;
        sends[i] = file[i];
        j = xa[file[i] - 1];
        if
        :: att[j] == A_SENDING && snd[j] != 0 && file[xn[snd[j] - 1]] == snd[j] -> snd[j] = 0   /* more than one may have sent it */
        :: att[j] == A_SENDING && snd[j] == 0
        :: att[j] != A_ACCEPTED && att[j] != A_REFUSED && att[j] != A_ERRORED && att[j] != A_SENDING -> att[j] = A_SENDING; snd[j] = file[i]
        :: att[j] == A_SENDING && snd[j] != 0 && file[xn[snd[j] - 1]] != snd[j] -> snd[j] = file[i]
        :: else
        fi;
        if :: att[SISTER(j)] == A_OPEN -> att[SISTER(j)] = A_NOT_SENT :: else fi;
        if
        :: ENDED(OF(j)) && row[OF(j)] == R_FREED && att[j] == A_SENDING -> row[OF(j)] = R_ABANDONED
        :: !ENDED(OF(j)) && att[j] == A_SENDING ->
           row[OF(j)] = R_SUBMITTED;
           if :: fst[OF(j)] == F_NONE -> fst[OF(j)] = F_SUBMITTING :: fst[OF(j)] == F_CHECKING -> move(OF(j), F_SUBMITTING) :: else fi;
           move(OF(j), F_UNKNOWN)
        :: else
        fi
     :: else
     fi;
     i++
  :: else -> break
  od;
#ifndef IMPORT_KEEPS_MARKS
  i = 0; do :: i < ATTEMPTS -> armed[i] = 0; i++ :: else -> break od;
#endif
  i = 0; j = 0
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
        if :: att[j] == A_NOT_SENT && j < LASTA(i) -> j = j + 1 :: else fi;
        att[j] = A_SENDING; snd[j] = 0; row[i] = R_SUBMITTED;
        if :: fst[i] == F_CHECKING -> move(i, F_SUBMITTING) :: else fi;
        move(i, F_UNKNOWN)
     :: else
     fi; i++
  :: else -> break
  od;
  /* a mark whose file is missing proves nothing: the file may be younger than the copy */
  i = 0;
  do
  :: i < ATTEMPTS -> if :: att[i] == A_SENDING -> snd[i] = 0; armed[i] = 0 :: else fi; i++
  :: else -> break
  od;
  i = 0; j = 0
#else
  skip
#endif
}
#define UNREAD(e) (net[e] == N_TRAVELLING || net[e] == N_TAKEN || net[e] == N_TAKEN_BAD -> 1 : 0)
#define NOT_OURS(e) (net[e] == N_CERTIFIED && row[OF(xa[e])] != R_CERTIFIED -> 1 : 0)
#define MAY_OPEN (!hold || COUNTX(UNREAD) == 0)
#define AUTHORITY_HAS_IT (hold && COUNTX(NOT_OURS) > 0)
#else
#define MAY_OPEN true
#define AUTHORITY_HAS_IT false
#endif

/* For random traces: a run that gives up at any time seldom sees an answer. */
#ifdef PATIENT
#define PATIENCE && ex[re[f] - 1] >= X_DONE_ANSWER
#define CALM true
#else
#define CALM false
#define PATIENCE
#endif
